"""Run by test_opacus_guard, once for each rank: train until the budget is used up."""

import warnings

import torch
from opacus import PrivacyEngine
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel

import dpcheck
from dpcheck.core.errors import BudgetExceeded
from dpcheck.integrations.guards.opacus import guard_training

warnings.filterwarnings("ignore")
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
torch.manual_seed(rank)
rows = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
table = torch.utils.data.TensorDataset(rows, (rows[:, 0] > 0).long())
model = torch.nn.Linear(3, 2)
with torch.no_grad():
    for p in model.parameters():
        p.fill_(0.1)
model = DifferentiallyPrivateDistributedDataParallel(model)
model, optimizer, loader = PrivacyEngine(accountant="rdp").make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    data_loader=torch.utils.data.DataLoader(table, batch_size=16),
    noise_multiplier=4.0,
    max_grad_norm=1.0,
)
guard = guard_training(optimizer, loader, model, dpcheck.Budget(2.0, 1e-5))
steps = 0
try:
    while True:
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            steps += 1
except BudgetExceeded:
    pass
values = [round(float(v), 6) for p in model.parameters() for v in p.detach().flatten()]
print(f"{steps} {guard.steps} {guard.allowed}|{values}")
