package clrt

import "testing"

func TestAssembleLate(t *testing.T) {
	const text = "//\n\n.version 7.8\n.target sm_90, texmode_independent\n.address_size 64\n\n.entry a(\n\t.param .u32 a_param_0\n)\n.reqntid 32, 1, 1\n{\n" +
		"\t// begin inline asm\n\t//@sm_90a entry .minnctapersm 2\n\t// end inline asm\n\t//@sm_90a wgmma.fence.sync.aligned;\n\tret;\n}\n.entry b()\n{\n\tret;\n}\n\x00"
	const want = "//\n\n.version 8.0\n.target sm_90a, texmode_independent\n.address_size 64\n\n.entry a(\n\t.param .u32 a_param_0\n)\n.reqntid 32, 1, 1\n.minnctapersm 2\n{\n" +
		"\t// begin inline asm\n\n\t// end inline asm\n\twgmma.fence.sync.aligned;\n\tret;\n}\n.entry b()\n{\n\tret;\n}\n\x00"
	got, err := assembleLate([]byte(text))
	if err != nil || string(got) != want {
		t.Errorf("got %v and\n%q\nwant\n%q", err, got, want)
	}
	const comment = ".version 8.0\n.target sm_90\n.entry a()\n{\n\t/*@sm_90a\n\t//@sm_90a entry .minnctapersm 1\n\t//@sm_90a wgmma.fence.sync.aligned;\n\tret;\n}\n.entry a_end()\n{\n\t@sm_90a*/ ret; }\n.entry a_end(.param .u64 a)\n{ //@sm_90a@\n\tret;\n}\n"
	const assembled = ".version 8.0\n.target sm_90a\n.entry a()\n.minnctapersm 1\n{\n\n\twgmma.fence.sync.aligned;\n\tret;\n}\n.entry a_end()\n{\n\t\n\tret;\n}\n"
	if got, err := assembleLate([]byte(comment)); err != nil || string(got) != assembled {
		t.Errorf("got %v and\n%q\nwant\n%q", err, got, assembled)
	}
	for _, bad := range []string{"", "\x7fELF", "//@sm_90a x", ".version 8.0\n.target sm_90\n"} {
		if got, err := assembleLate([]byte(bad)); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}
