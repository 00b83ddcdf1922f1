package pipeline

import "enhance/pipeline/look"

// tone is the tone of a picture. It is ToneDefault where the network renders.
func (j *Job) tone(display bool, rep *Report) (look.Tone, error) {
	switch {
	case display && j.Tone == look.ToneNatural:
		return 0, optionErrorf("tone", "model %s makes display-ready pictures: they have a tone already", rep.Model.Name)
	case display:
		return look.ToneDefault, nil
	case j.Tone == look.ToneDefault:
		return look.ToneNatural, nil
	}
	return j.Tone, nil
}
