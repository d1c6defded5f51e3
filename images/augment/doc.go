// Package augment describes the random changes of an image after its crop, resize, flip and color
// jitter: RandAugment, blur, erasing and others. Names, defaults and results match
// torchvision.transforms.v2 on uint8 tensors.
//
//	Steps  up to eight steps, in the order in which they are applied
//	Step   one of them: RandAugment, AutoAugment, TrivialAugmentWide, ColorJitter, GaussianBlur,
//	       RandomGrayscale, RandomSolarize or RandomErasing
//	Op     one change of the pixels, with all random choices made; Steps.Draw returns them
//
// # Random numbers
//
// Each step has its own stream of random numbers: stream 256k + n of the image's seed, where k is
// the place of the step's kind in the list above, from 1, and n counts the earlier steps of that
// kind. So adding, removing or moving a step does not change the draws of steps of other
// kinds. The numbers of a stream are used in the order of torchvision's code.
//
// The package draws, and changes no pixels: internal/image/paint does.
package augment
