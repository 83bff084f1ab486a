"""Live widgets: `from qkv.widgets import ScalingLab`. `base.py` says which files make a widget."""

from qkv.widgets.cache_stepper import CacheStepper
from qkv.widgets.everywhere import Everywhere
from qkv.widgets.head_atlas import HeadAtlas
from qkv.widgets.head_microscope import HeadMicroscope
from qkv.widgets.head_splitter import HeadSplitter
from qkv.widgets.mask_painter import MaskPainter
from qkv.widgets.pattern_lab import PatternLab
from qkv.widgets.position_explorer import PositionExplorer
from qkv.widgets.predict import Predict
from qkv.widgets.predict_bars import PredictBars
from qkv.widgets.predict_mask import PredictMask
from qkv.widgets.predict_number import PredictNumber
from qkv.widgets.qkv_stepper import QKVStepper
from qkv.widgets.real_model import RealModel
from qkv.widgets.scaling_lab import ScalingLab
from qkv.widgets.sentence_lab import SentenceLab
from qkv.widgets.sequence_explorer import SequenceExplorer
from qkv.widgets.temperature_lab import TemperatureLab
from qkv.widgets.train_lab import TrainLab
from qkv.widgets.transformer_flow import TransformerFlow
from qkv.widgets.two_heads import TwoHeads

__all__ = [
    "CacheStepper",
    "Everywhere",
    "HeadAtlas",
    "HeadMicroscope",
    "HeadSplitter",
    "MaskPainter",
    "PatternLab",
    "PositionExplorer",
    "Predict",
    "PredictBars",
    "PredictMask",
    "PredictNumber",
    "QKVStepper",
    "RealModel",
    "ScalingLab",
    "SentenceLab",
    "SequenceExplorer",
    "TemperatureLab",
    "TrainLab",
    "TransformerFlow",
    "TwoHeads",
]
