package augment

// A choice is an operation that AutoAugment takes with a probability.
type choice struct {
	kind      Kind
	p         float64
	magnitude int // a bin of 10
}

// imageNet are the pairs of operations for ImageNet (Cubuk et al., 2018, table 9).
var imageNet = [...][2]choice{
	{{Posterize, 0.4, 8}, {Rotate, 0.6, 9}},
	{{Solarize, 0.6, 5}, {AutoContrast, 0.6, 0}},
	{{Equalize, 0.8, 0}, {Equalize, 0.6, 0}},
	{{Posterize, 0.6, 7}, {Posterize, 0.6, 6}},
	{{Equalize, 0.4, 0}, {Solarize, 0.2, 4}},
	{{Equalize, 0.4, 0}, {Rotate, 0.8, 8}},
	{{Solarize, 0.6, 3}, {Equalize, 0.6, 0}},
	{{Posterize, 0.8, 5}, {Equalize, 1.0, 0}},
	{{Rotate, 0.2, 3}, {Solarize, 0.6, 8}},
	{{Equalize, 0.6, 0}, {Posterize, 0.4, 6}},
	{{Rotate, 0.8, 8}, {Color, 0.4, 0}},
	{{Rotate, 0.4, 9}, {Equalize, 0.6, 0}},
	{{Equalize, 0.0, 0}, {Equalize, 0.8, 0}},
	{{Invert, 0.6, 0}, {Equalize, 1.0, 0}},
	{{Color, 0.6, 4}, {Contrast, 1.0, 8}},
	{{Rotate, 0.8, 8}, {Color, 1.0, 2}},
	{{Color, 0.8, 8}, {Solarize, 0.8, 7}},
	{{Sharpness, 0.4, 7}, {Invert, 0.6, 0}},
	{{ShearX, 0.6, 5}, {Equalize, 1.0, 0}},
	{{Color, 0.4, 0}, {Equalize, 0.6, 0}},
	{{Equalize, 0.4, 0}, {Solarize, 0.2, 4}},
	{{Solarize, 0.6, 5}, {AutoContrast, 0.6, 0}},
	{{Invert, 0.6, 0}, {Equalize, 1.0, 0}},
	{{Color, 0.6, 4}, {Contrast, 1.0, 8}},
	{{Equalize, 0.8, 0}, {Equalize, 0.6, 0}},
}
