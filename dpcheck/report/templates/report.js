for (const button of document.querySelectorAll("button[data-copy]")) {
  const code = document.getElementById(button.dataset.copy);
  const said = (word) => { button.textContent = word; setTimeout(() => { button.textContent = "Copy"; }, 2000); };
  const select = () => { getSelection().selectAllChildren(code); };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (!navigator.clipboard) { select(); said(document.execCommand("copy") ? "Copied" : "Selected"); return; }
    navigator.clipboard.writeText(code.textContent).then(() => said("Copied"), () => { select(); said("Selected"); });
  });
}
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
