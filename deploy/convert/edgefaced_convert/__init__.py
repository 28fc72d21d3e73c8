"""From an ONNX pack to a board: reported, calibrated, quantised, compiled, proved and packed."""
