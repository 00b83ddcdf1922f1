package onnximport

// handlers import operations that have an input that is a plane.
var handlers map[string]handler

func init() {
	handlers = map[string]handler{
		"Conv": (*call).conv, "ConvTranspose": (*call).convTranspose,
		"BatchNormalization": (*call).batchNorm, "InstanceNormalization": (*call).instanceNorm, "LayerNormalization": (*call).layerNorm,
		"GroupNormalization": (*call).groupNorm, "LRN": (*call).lrn, "LpNormalization": (*call).lpNorm,
		"Softmax": (*call).softmax, "LogSoftmax": (*call).softmax,
		"Add": (*call).arithmetic, "Sub": (*call).arithmetic, "Mul": (*call).arithmetic, "Div": (*call).arithmetic, "Pow": (*call).arithmetic,
		"Min": (*call).arithmetic, "Max": (*call).arithmetic, "Sum": (*call).arithmetic, "Mean": (*call).arithmetic,
		"Concat": (*call).concat, "Split": (*call).split, "Slice": (*call).slice, "Pad": (*call).pad,
		"DepthToSpace": (*call).depthToSpace, "SpaceToDepth": (*call).spaceToDepth,
		"Resize": (*call).resize, "Upsample": (*call).resize,
		"MaxPool": (*call).pool, "AveragePool": (*call).pool, "LpPool": (*call).pool,
		"GlobalMaxPool": (*call).globalPool, "GlobalAveragePool": (*call).globalPool, "GlobalLpPool": (*call).globalPool,
		"ReduceMean": (*call).reduce, "ReduceSum": (*call).reduce, "ReduceMax": (*call).reduce, "ReduceMin": (*call).reduce,
		"ReduceL1": (*call).reduce, "ReduceL2": (*call).reduce, "ReduceSumSquare": (*call).reduce, "ReduceLogSum": (*call).reduce,
		"Gemm": (*call).gemm, "MatMul": (*call).matMul,
		"Flatten": (*call).reshape, "Reshape": (*call).reshape, "Squeeze": (*call).reshape, "Unsqueeze": (*call).reshape,
		"Transpose": (*call).transpose, "Identity": (*call).same, "Dropout": (*call).same, "Cast": (*call).same,
		"QuantizeLinear": (*call).quantizeLinear, "DequantizeLinear": (*call).dequantizeLinear, "DynamicQuantizeLinear": (*call).dynamicQuantize,
		"ConvInteger": (*call).convInteger, "QLinearConv": (*call).qlinearConv, "MatMulInteger": (*call).matMulInteger, "QLinearMatMul": (*call).qlinearMatMul,
		"PRelu": (*call).prelu, "Clip": (*call).clip, "Gelu": (*call).gelu,
	}
	for name := range functions {
		handlers[name] = (*call).function
	}
}
