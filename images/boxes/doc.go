// Package boxes moves the boxes and points of pictures to their places in the tensors that are made
// of the pictures. Names and results match torchvision.transforms.v2 for tv_tensors.BoundingBoxes
// and tv_tensors.KeyPoints, with ClampBoundingBoxes and SanitizeBoundingBoxes.
//
//	Options  the picture that boxes are of, their format, and which of them stay
//	Move     moves one box or point, and reports whether it stays
//
// A picture's crop, resize, flip and letterbox are a view: the part of the picture that the tensor
// shows, as images.Options.View returns it. The package knows nothing of pictures besides.
package boxes
