"""`dpcheck ftl`: secure federated transfer learning between two processes."""

from dpcheck.cli.ftl.command import command as command
