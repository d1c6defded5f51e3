package wire

// Node is a node of a schema: a column, or a part of one.
type Node struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"` // fixed, binary, list, struct, map or null
	Type      string   `json:"type"` // as the command prints it: int32, float16, string, timestamp, decimal, ...
	Width     int      `json:"width"`
	Nullable  bool     `json:"nullable"`
	Unit      string   `json:"unit"` // s, ms, us or ns of times and timestamps
	UTC       bool     `json:"utc"`
	Extension string   `json:"extension,omitempty"` // the name of Arrow's extension type that the file has
	Precision int      `json:"precision"`
	Scale     int      `json:"scale"`
	ListSize  int      `json:"list_size"` // of lists that the writer declared fixed; -1: dense, with a length per batch
	Partition bool     `json:"partition"`
	Added     bool     `json:"added"`              // not of the data: lengths of a padded column, ids and seeds of rows
	Joined    bool     `json:"joined,omitempty"`   // one array, or one number, of the batch; see column.Field
	Features  []string `json:"features,omitempty"` // of a matrix: the columns that it was stacked of
	Labels    []string `json:"labels,omitempty"`   // names of the values, from 0 on
	Children  []Node   `json:"children"`
}
