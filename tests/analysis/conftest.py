import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # for synthetic_logs and coba_golden
