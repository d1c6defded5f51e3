package filetest

import _ "embed"

// ArrowSchema is the ARROW:schema that pyarrow wrote for
//
//	emb list<float>[4], ragged list<float>, s struct<v list<int8>[3], w int32>, mat list<list<double>[2]>[5],
//	l list<list<int16>[7]>, m map<string, list<int32>[6]>, big large_list<list<int32>[9]>, d dictionary<string>
//
//go:embed arrow_schema.b64
var ArrowSchema []byte

// Nested is a schema with lists, a map and structs.
const Nested = `
	required int32 id;
	optional group a (LIST) { repeated group list { optional group element { required int32 b; required int32 c; } } }
	optional group m (MAP) { repeated group key_value { required binary key (UTF8); optional group value { required int32 x; required int32 y; } } }
	required group s { required int32 p; required group q { required int32 r; required int32 t; } }
	required int32 s.p;`
