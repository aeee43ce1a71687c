"""A small LoRA with Hugging Face's Trainer and Opacus, stopped at its privacy budget.

pip install '.[huggingface]' && python examples/guards/trainer_lora.py
"""

import tempfile
import warnings

import torch
from opacus import PrivacyEngine
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import dpcheck
import dpcheck.integrations.opacus  # registers accountant="dpcheck"
from dpcheck.integrations.guards.huggingface import BudgetCallback
from dpcheck.integrations.guards.opacus import guard_training

BUDGET = dpcheck.Budget(1.0, 1e-5)


class Sentences(torch.utils.data.Dataset):
    """Made-up token sequences; the class is the first token's parity."""

    def __init__(self, number, length=8, vocabulary=50):
        self.tokens = torch.randint(1, vocabulary, (number, length))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index][0] % 2}


class PrivateTrainer(Trainer):
    """Trains on the loader Opacus made, as the Trainer's own would shuffle, and clears its gradients."""

    def __init__(self, *args, loader, **options):
        super().__init__(*args, **options)
        self.loader = loader

    def get_train_dataloader(self):
        return self.loader

    def training_step(self, *args, **options):
        self.optimizer.zero_grad()  # the Trainer clears the model's gradients alone
        return super().training_step(*args, **options)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


def main():
    """Train until the budget is used up; returns what the guard and the accountant say was spent."""
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16,
    )  # fmt: skip
    lora = LoraConfig(r=2, target_modules=["query", "value"], modules_to_save=["classifier"])
    model = get_peft_model(BertForSequenceClassification(config), lora)
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine = PrivacyEngine(accountant="dpcheck")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(trained, lr=0.1),
        data_loader=torch.utils.data.DataLoader(Sentences(128), batch_size=32),
        noise_multiplier=4.0,
        max_grad_norm=1.0,
    )
    guard = guard_training(optimizer, loader, model, BUDGET)
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder, num_train_epochs=1000, logging_steps=5, save_strategy="no", report_to=[],
            use_cpu=True, max_grad_norm=0.0, disable_tqdm=True, remove_unused_columns=False,
        )  # fmt: skip
        trainer = PrivateTrainer(
            model, options, optimizers=(optimizer, None), loader=loader,
            callbacks=[BudgetCallback(guard, counts=False)],
        )  # fmt: skip
        trainer.train()
    spent, accounted = guard.epsilon().upper, engine.get_epsilon(BUDGET.delta)
    print(f"{guard.steps} steps, epsilon {spent:.4f} of {BUDGET.epsilon:g} at {BUDGET.delta:g}")
    return guard, spent, accounted


if __name__ == "__main__":
    main()
