package ncnn

import (
	"encoding/binary"

	"enhance/model/onnx"
)

// weights are the bytes of a .bin file that are still to be read. Layers take theirs in the order of the .param file.
type weights struct {
	b  []byte
	at int
}

// Tags in front of the weights of convolutions and matrices.
const (
	tagFP32 = 0
	tagFP16 = 0x01306B47
	tagInt8 = 0x000D4B38
	tagRaw  = 0x0002C056 // float32
)

// tagged takes n weights behind a tag that says how they are stored.
func (w *weights) tagged(l *layer, n int) (t onnx.Type, b []byte, err error) {
	if len(w.b)-w.at < 4 {
		return 0, nil, l.refuse("the .bin file ends before its weights")
	}
	tag := binary.LittleEndian.Uint32(w.b[w.at:])
	w.at += 4
	switch tag {
	case tagFP32, tagRaw:
		b, err = w.take(l, n, 4)
		return onnx.Float, b, err
	case tagFP16:
		if b, err = w.take(l, n, 2); err == nil && n%2 == 1 { // stored in whole words
			_, err = w.take(l, 1, 2)
		}
		return onnx.Float16, b, err
	case tagInt8:
		return 0, nil, l.refuse("its weights are int8, which is not read: take the network in fp16 or fp32")
	}
	return 0, nil, l.refuse("its weights begin with the tag %08x: neither fp32 nor fp16; they are stored in another way, or .param and .bin do not belong together", tag)
}

// take takes n elements of size bytes.
func (w *weights) take(l *layer, n, size int) ([]byte, error) {
	if n < 0 || n > (len(w.b)-w.at)/size {
		return nil, l.refuse("its %d weights end beyond the .bin file, of which %d bytes are left", n, len(w.b)-w.at)
	}
	b := w.b[w.at:][:n*size]
	w.at += n * size
	return b, nil
}
