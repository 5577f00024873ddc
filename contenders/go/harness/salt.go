package harness

// Mix is one output of splitmix64, from the state salt + index.
func Mix(salt, index uint64) uint64 {
	x := salt + index + 0x9E37_79B9_7F4A_7C15
	x = (x ^ x>>30) * 0xBF58_476D_1CE4_E5B9
	x = (x ^ x>>27) * 0x94D0_49BB_1331_11EB
	return x ^ x>>31
}

// conformanceSalt is one unit of no work, whose answer is the salt mixed with an index.
const conformanceSalt = "conformance/salt"

func prepareConformanceSalt(request *Request) (Work, error) {
	index, err := request.Between("index", 0, 1<<64-1)
	answer := Mix(request.Salt, index)
	return Plain(func() Iteration { return Iteration{Answer: answer, Ops: 1, Work: 1} }), err
}
