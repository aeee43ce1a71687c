# A noisy sum that answers dpcheck in JSON lines. Needs jsonlite (Debian: r-cran-jsonlite).
#   dpcheck audit --exec "Rscript count.R" --claim 1 --adjacency replace-one --neighbours pairs.json
library(jsonlite)

mechanism <- function(data) {
  sum(pmin(pmax(unlist(data), 0), 1)) + rexp(1) - rexp(1)
}

input <- file("stdin", open = "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  request <- fromJSON(line, simplifyVector = FALSE)
  set.seed(request$seed %% 2147483647)
  answer <- tryCatch(
    list(outputs = lapply(seq_len(request$runs), function(i) unbox(mechanism(request$data)))),
    error = function(e) list(error = unbox(conditionMessage(e)))
  )
  cat(toJSON(answer, digits = NA), "\n", sep = "")
  flush(stdout())
}
