// Package shuffle makes the order in which samples are trained on: "lane-tick/3", a pure function
// of a manifest, parameters, a seed, an epoch and a position, in integers only.
//
// The order counts samples. A sample is a row, unless a rule makes samples of the rows of each
// unit: [Manifest].Rule names the rule, and [Unit].Samples counts its samples. The package sees
// only these counts. Under a rule, "rows" of an order, a lane, a span, a step or a buffer means
// samples, here and in the names of fields and methods.
//
// A [Manifest] describes the data, [CutUnits] cuts its row groups into units, [Options] choose
// [Params] by a frozen rule, and [New] makes the [Plan]. A plan has epochs, an [Epoch] has lanes,
// and the [Iter] of a [Lane] lists, tick by tick, the units to load, the rows to emit in order, and
// the units to free. A [View] selects the rows of each lane that a worker takes in a step; [Steps]
// counts the steps. [SeatLanes] lets ranks read the lanes that their nodes have cached. A [State]
// records the progress of training. A [Sequence] is the order without shuffle. A [Ratio] divides
// numbered rows by weight, and a [Mixture] combines plans.
//
// The package imports only the standard library, reads neither clock nor files, starts no goroutine
// and allocates nothing per row. A plan keeps O(shards), a lane O(its units), with neither a table
// of rows nor the state of a generator. Only [Quality] uses floats, and no order depends on it.
//
// The rest of this page is the specification of "lane-tick/3". It is frozen: a better order gets
// another name. Integers are exact, "/" is floor, ceil(a/b) rounds up, and products need 128 bits
// where noted; all indices count from 0.
//
// # Random numbers
//
//	key(dom, seed, ids...)  the first 16 bytes of SHA-256("shardfeed/plan/v1/" || dom || seed || ids...), texts as their ASCII bytes,
//	                        integers as 8 bytes little-endian
//	state (hi, lo)          hi = key bytes 0..7, lo = key bytes 8..15, little-endian; 128 bits hi*2^64 + lo
//	next                    state = state * 0x2360ed051fc65da44385df649fccf645 + 0x5851f42d4c957f2d14057b7ef767814f  mod 2^128, then of the
//	                        new state: h = hi; h ^= h >> 32; h *= 0xda942042e4dd58b5; h ^= h >> 48; h *= lo | 1; the result is h (mod 2^64)
//	                        (PCG-DXSM with the cheap multiplier, as math/rand/v2)
//	below(n)                x = next * n in 128 bits; while x mod 2^64 < 2^64 mod n: again; x / 2^64 (Lemire)
//	shuffle(a)              for i = len(a)-1 down to 1: j = below(i+1), swap a[i] and a[j]
//	perm(n)                 shuffle(0, 1, .., n-1)
//
// The generators and their ids:
//
//	"assign"  0 when assign is sticky, else the epoch   one permutation of the shards
//	"order"   epoch, line lane                          the order of a lane's spans
//	"rows"    epoch, group, row                         the row order of the span whose first row is number row - lo of the unit
//	"tick"    epoch, line lane, tick                    from which span each row of a tick comes
//	"mix"     total                                     the step of a deal, see Deals
//	"part"    row                                       which rows of a run are of which part; the caller's seed
//	"pack"    epoch, group, row                         the order in which a rule makes samples of the unit whose first row is row
//	"source"  source                                    the seed of a source of a mixture: its first next
//
// # Data
//
// Shards are sorted by relative path, byte by byte. Row groups are numbered over all shards in that
// order. A unit is rows [lo, hi) of a group; the units of a group cover it in ascending order;
// groups without rows have no unit. Its samples are numbered from 0; without a rule they are its
// rows. Under a rule a unit has any number of samples, 0 to 2^31-1. N is the number of samples, n
// the number of units that have any.
//
// Only shards with samples count: random numbers use the number of a group among the groups of
// these, and the hashes and the line leave the other shards out. Paths in the content hash are
// relative to the deepest directory of the shards that count. Where a rule chooses rows by their
// numbers among all rows, each shard with rows counts up to the last one that has samples.
//
// [CutUnits] makes the units of a group of r rows and B uncompressed bytes (all columns):
//
//	edges(p)    floor(r*c/p) for c = 1..p-1; with a page index each moved to the nearest first row of a data page of the widest column (the
//	            lower of two equally near), then those at 0, at r, and those not above the one before are dropped
//	pinned      unit_rows = u > 0: edges(ceil(r / min(u, 2^24))); if a slice is over 2^24 rows, the edges are not moved to pages
//	else        p = the first of 8, 4, 2 with B/p >= 2^24 bytes, r >= p, at least one edge left, and 10 * decoded(edges) <= 11 * decoded(nil),
//	            decoded being the bytes to decode when the slices are read one by one; without a page index or such a p there is one slice
//	            if a slice is over 2^28 bytes (its rows * B > 2^28 * r) or over 2^24 rows: q = min(2^24, max(1, 2^28*r/B)), edges(ceil(r/q)), and
//	            if a slice still is, they are not moved to pages
//
// The content hash is SHA-256 over, in this order, integers as 8 bytes little-endian and texts as
// their length (an integer) and bytes: the text "shardfeed/manifest/content/1", the number of
// shards, and for each shard its path, its size in bytes, the number of its row groups and the rows
// of each. The versions hash has the name "shardfeed/manifest/versions/1", the number of shards,
// and for each its path, size and version. The units hash is the first 8 bytes of the one with the
// name "shardfeed/units/1" and for each unit its group and lo, and under a rule -1 and its number
// of samples. All are lower-case hex.
//
// # Parameters
//
// [BufferSize]: R is the shuffle buffer in rows, at least 1; x bytes are floor(x*N/B) rows, where
// N is the rows of the shards that count and B the bytes of all their columns. The default is
// min(2^31, max(B/100, small)) bytes, where small = min(2^28, max(2^26, B/8, 4*u)) and u =
// floor(B*Umax/N) + 1 is the bytes of the largest unit, of Umax samples; then at most
// floor(world size * memory / 4) where the user gave memory. Without bytes it is the rows of these
// shards.
//
// [Options.Params], W the world size at the start, M = max(W, max_world_size), Umax the samples of
// the largest unit:
//
//	L     the pinned number; or the odd part of W; while 2L <= 64 and 2L <= n/8 and 2L <= R/(4*Umax): L = 2L; then while L < M: L = 2L
//	U     min(Umax, ceil(N/L))
//	mean  min(max(1, N/n), ceil(N/L))
//	A     max(1, mean/8)                                            quantum, rows per tick
//	B(D)  ceil(A*D/3) + 2A + U                                      the most rows of a lane, the next tick's arrivals included
//	D     the largest in [1, Dtop] with B(D) <= R/L, else 1; Dtop = max(1, min(3*(N/L+1)/A + 3, 65535))
//	S     max(1, A*D/3)
//
// All lanes hold min(N, L * max(B(D), R/L)) rows at most.
//
// # Lanes
//
// Position p of an epoch comes from the lane at slot (o+p) mod L and is the next row that this lane
// emits. o is 0, under the tail "carry" (epoch * N) mod L. So the lane at slot i has as many rows
// as there are p in [0, N) with (o+p) mod L = i.
//
//	line(i)   line lane of slot i: i's digits in the mixed radix of L, reversed. Radices: the odd prime factors of L ascending, then its twos;
//	          the first radix f1 belongs to the lowest digit d1 = i mod f1, d2 = (i/f1) mod f2, ..; line = d1*L/f1 + d2*L/(f1*f2) + ..
//	line      the shards in the order of perm(shards) of "assign", in each its units, in each its rows; cut into L runs, run l having the rows
//	          of the slot i with line(i) = l. What a run has of a unit is a span; a cut inside a unit makes two spans of it
//	          (a unit without samples makes no span)
//	order     the spans of a line lane in the order of the line get a key each from "order": spread 0: next. Spread H > 0: first the
//	          lane's shards, in the order of the line, are shuffled, then key = (place of the span's shard) * 2^32 + below(H * 2^32).
//	          They arrive by ascending (key, unit, first row), numbered j = 0, 1, ..
//
// # Ticks
//
// n_j is the rows of span j, cum_j the rows of the spans before it, m the spans of the fill.
//
//	start filled  m = the largest with n_0 + .. + n_(m-1) <= R/L, at least 1; S as above
//	              life_j of j < m: the least d in [1, D] with d^3 * 2S >= D^3 * min(2*cum_j + n_j, 2S), products in 128 bits
//	start direct  m = 1, life_0 = D; S counts as 0 in the next line
//	tau_j         0 for j < m, else (max(0, cum_j - S) + mean * line lane / L) / A; life_j = D for j >= m
//	Ea            tau of the last span
//	E             Ea + 1 + ceil(D/3), the number of ticks; 0 for a lane without rows
//
// C(j, k) is how many rows of span j have left when tick k is over:
//
//	k < tau_j                               0
//	k >= E-1                                n_j
//	k <= Ea, or tau_j + life_j - 1 <= Ea    n_j when x >= life_j, else n_j - n_j*(life_j-x)^2 / life_j^2, where x = k - tau_j + 1
//	else                                    c + (n_j - c)*(k - Ea) / (E-1-Ea), where c = C(j, Ea)
//
// Span j emits its rows in the order perm(n_j) of "rows". For tick k the lane lists, for ascending
// j, the number j C(j, k) - C(j, k-1) times, and shuffles the list with "tick". Each j then means
// the next row of its span.
//
// perm(n_j) makes all orders of a span's rows equally likely, so a tick is as random as if its rows
// themselves were shuffled, as they were in "lane-tick/1". But the rows of a span leave in the
// order in which a decoder can lay them: a batch reads each span's memory from front to back.
//
// # Shares
//
// A [Ratio] has integer weights w_d >= 0 with the sum T = 2^20: of each weight's exact share of T
// the floor, at least 1 unless the weight is 0. What is left goes to the largest remainders, equal
// ones in order; what is too much comes off the largest weight, one by one. It divides the rows of
// a manifest among parts. Level j has the j-th largest weight above 0, equal ones in order: w_j.
// r_0 = T, r_(j+1) = r_j - w_j. These are the nested floors of Grain's mix.
//
//	K_0 = n, K_(j+1) = floor(K_j * (r_j - w_j) / r_j), products in 128 bits
//	C_j(n)     K_j - K_(j+1), the number of the first n rows on level j
//
// # Deals
//
// A deal divides the numbers 0, 1, 2, .. among sources with integer weights w_d >= 0 and the sum T.
// Number x is at the place x*g mod T, and source d has the places from w_0 + .. + w_(d-1) up to
// that plus w_d. g is prime to T, so T consecutive numbers reach each place once: any T of them
// have exactly w_d of source d. The number of i, i+L, .., i+(n-1)L that belong to a source is a
// difference of two sums of floor((a*m + b) / T) over m < n, which Euclid's algorithm computes.
//
//	g       of 64 candidates below(T) of "mix", each raised by 1 mod T until it is prime to T,
//	        the first with the least largest quotient: the largest term of the continued
//	        fractions of (g*s mod T) / T, over the divisors s of L
//
// Such a step spreads short runs, and the runs of one lane or rank, almost as evenly as whole ones.
//
// # Mixtures
//
// "mix/4" is the order of sources with weights. Each source d has a plan under the tail "carry",
// with the seed of "source" and N_d samples; all plans have one L. The mixture has samples x = 0,
// 1, .. without end. Position p of epoch e is x = e*N + p. The tail decides which positions the
// steps take, and moves no sample.
//
//	shares  weights w from sample P on, P = 0 first: the samples from P on, counted from the
//	        first of them, are dealt, until the next P. The deal has the integer weights of the
//	        ratio of w; the first one has the counts of an epoch instead, if there are any, and
//	        then T is N
//	pass    the k-th sample of source d, k counted over all P, is of its pass k / N_d, an epoch
//	        of its plan
//	lane    the lane at slot i has the samples x with x mod L = i; its n-th is x = n*L + i. Of a
//	        pass over a source it has as many rows as it has samples of this pass. So the line
//	        of the pass is cut into runs of these lengths in place of equal ones, and all else
//	        is as in an epoch of the plan. Of a pass that never ends, the rows that never come
//	        are divided as the first positions of an epoch are
//	set     weights that are set at sample P were not known before. What is left of a pass that
//	        has begun is cut again: the line of its spans, each without the rows that have left,
//	        into runs of the lengths that the lanes need from P on. A cut in a span divides its
//	        remaining rows by their order. In cum, n and the fill a span counts with all of its
//	        rows; it emits the remaining ones, and its C(j, k) counts these. "order" and "tick"
//	        have one more id: how often the pass was cut again
//	counts  of an epoch, M_d with the sum N. repeat and choose: what they say. stop "first": d'
//	        has the least N_d / w_d, and M_d = max(1, round(N_d' * w_d / w_d')), halves up;
//	        "all": d' has the greatest. epoch size N: N * w_d / sum(w), if all are whole,
//	        else no counts. In exact fractions
//	buffer  of x bytes source d gets R_d = x*w_d / sum(w_e*b_e) samples, b_e the mean bytes of a
//	        sample of e, at least 1, and w the largest share that each ever has. It is N_d at
//	        most, and what is left goes round again among the others. L is the largest that the
//	        rule chooses for any source
//
// So after any number of samples, of all ranks together, each source has given whole passes and the
// first rows of one. Ranks that each read their own part of a source, and equally many rows in each
// step, read parts of a pass whose sizes depend on all weights to its end. So weights that are set
// within a pass must cut it again.
//
// Under batching "per_source" each step of G samples is of one source. Sources have lanes of their
// own, L_d, and N is a multiple of G.
//
//	shares  step k = 0, 1, .. without end has the samples [k*G, (k+1)*G) of the mixture. Steps
//	        are dealt with L = 1; weights from sample P on apply from step ceil(P / G) on
//	sample  the s-th step of source d has its q in [s*G, (s+1)*G): q is of the epoch q / N_d of
//	        d's plan, and of its lane at slot q mod L_d. Ranks and workers divide these G as
//	        they do a step of d's plan from position s*G on
//	counts  repeat, choose and an epoch size are rounded up to whole steps. stop "first" ends
//	        with the first step by which a source has given N_d samples, "all" with that by
//	        which each has; these have no counts, since a pass need not be of whole steps
//
// Weights in tokens become weights of samples by w_d*N_d / T_d, exactly, before all else. T_d are
// the tokens in the N_d samples of an epoch of d.
//
// # Steps, ranks and workers
//
// A step is G = batch size * W consecutive positions, the last step of an epoch under "pad" and
// "short" what is left. Which rows a step has does not depend on W, on the number of workers K, or
// on how many ranks there were before. Let c_i be the rows that the lane at slot i has in the step
// and c their sum.
//
//	by lanes    W divides L: rank r has the rows of the slots i with i mod W = a_r, where line_W(a_r) = r, line_W being line for L = W. When W
//	            is the product of the first radices of L, these are the line lanes [r*L/W, (r+1)*L/W). Worker k of K, when K divides L/W, has
//	            of them the slots with (i / W) mod K = b_k, where line_K(b_k) = k
//	by blocks   W does not divide L: the rows of the step, sorted by (line lane, lane row), are cut into W blocks; rank r has block r. Worker k,
//	            when the ranks have blocks or K does not divide L/W: the rows of its rank, sorted so, are cut into K blocks; it has block k.
//	            Block i of n of c rows is the rows from floor(c*i/n) to floor(c*(i+1)/n) - 1
//
// Seats are a permutation, line lane -> place. They are used where W divides L and L divides G, or
// where G >= 16L. In the first case rank r has the lanes at the places [r*L/W, (r+1)*L/W), and
// worker k of K, when K divides L/W, block k of these. In the second W does not divide L, or L not
// G: ranks have blocks as above, of the rows sorted by (place, lane row). Neither a plan nor a
// state has seats.
//
// A batch has its rows in ascending position. In a full step each rank has G/W rows exactly.
//
// Tails, v = N mod G: "drop" leaves out v rows. "short" has a last step of v rows. "pad" too, and a
// rank fills its batch up with rows marked invalid: it repeats its own valid rows of the step in
// turn; without valid rows they are null, zero or empty. "carry" puts the v rows into the next
// epoch's first step, before row 0 of that epoch: lanes run on over epochs, as o makes them.
//
// # Order without shuffle
//
// "sequential/1": row p is the p-th row of the groups in order, under a rule the p-th sample of the
// units. Of a step of c rows rank r has
// block r of W, in it worker k block k of K.
//
// # State
//
// One JSON object, under 1 KiB without a mixture, the same on every rank and worker; fields appear
// only under the conditions given here, and others are refused:
//
//	v             1
//	plan          "lane-tick/3", "sequential/1" when shuffle is false, or "mix/4" of several sources
//	shuffle       true or false
//	seed          0 to 2^64-1
//	epoch         from 0
//	position      rows of the epoch that training took, over all ranks
//	rows          N
//	global_batch  G when the state was taken; another G continues at the same position, except under
//	              "per_source", which refuses it
//	manifest      the content hash; not of a mixture
//	units         the units hash; with shuffle, not of a mixture
//	rule          16 hex digits of the rule; with a rule, not of a mixture
//	params        lanes (L), quantum (A), life (D), buffer (R), start ("filled", "direct"), spread (H), assign ("sticky", "epoch"),
//	              tail ("drop", "pad", "short", "carry"), unit_rows (0 when not pinned); with shuffle, not of a mixture
//	batching      "stratified" or "per_source"; this and the following only of a mixture
//	lanes         L; not under "per_source"
//	tail          as in params
//	weights_in    "tokens", if weights are of tokens
//	weights       [[P, [w_0, w_1, ..]], ..], as they were given; [P, [..], true] if they were set at P
//	counts        M_d, where epochs have them
//	sources       for each name, rows (N_d), manifest, units, rule with a rule, tokens (T_d) with
//	              weights in tokens, params without tail, with lanes only under "per_source"
//
// After the last step of an epoch the position is 0 of the next epoch, except under "carry", which
// keeps rows that no step took yet in their epoch. A resume seeks each of its lanes to the row of
// position p: the number of q < p with (o+q) mod L = slot.
package shuffle
