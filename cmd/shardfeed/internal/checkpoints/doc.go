// Package checkpoints reads saved states of training, and groups them by their step.
package checkpoints
