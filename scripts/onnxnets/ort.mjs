// Runs NAME.onnx in a folder on its inputs NAME.K.HxW.in.f32 with onnxruntime-node on two threads,
// writes NAME.K.out.f32 and prints the median time: node ort.mjs DIR [NAME ...]
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const ort = createRequire(process.cwd() + '/')('onnxruntime-node')
const [dir, ...only] = process.argv.slice(2)
const repeat = Number(process.env.REPEAT ?? 1)
for (const file of readdirSync(dir).filter((f) => f.endsWith('.onnx')).sort()) {
  const name = file.slice(0, -5)
  if (only.length && !only.includes(name)) continue
  const options = { intraOpNumThreads: 2, interOpNumThreads: 1, logSeverityLevel: 3 }
  const session = await ort.InferenceSession.create(`${dir}/${file}`, options).catch((e) => console.log(name, String(e.message).slice(0, 200)))
  if (!session) continue
  for (const input of readdirSync(dir).filter((f) => f.startsWith(name + '.') && f.endsWith('.in.f32')).sort()) {
    const [, k, h, w] = input.slice(name.length).match(/^\.(\d+)\.(\d+)x(\d+)\.in\.f32$/)
    const raw = readFileSync(`${dir}/${input}`)
    const data = new Float32Array(raw.buffer, raw.byteOffset, raw.length / 4)
    const x = new ort.Tensor('float32', data, [1, data.length / h / w, Number(h), Number(w)])
    const times = []
    let out
    for (let i = 0; i < repeat; i++) {
      const start = performance.now()
      out = await session.run({ [session.inputNames[0]]: x })
      times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    const y = out[session.outputNames[0]]
    writeFileSync(`${dir}/${name}.${k}.out.f32`, Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength))
    console.log(`${name} ${k} ${y.dims.join('x')} ${(times[times.length >> 1] / 1000).toFixed(4)} s`)
  }
}
