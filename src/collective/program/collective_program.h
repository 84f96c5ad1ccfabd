#pragma once
// A collective's whole program, as one process runs it.

#include <string>

#include "model/program.h"
#include "model/transfer.h"

namespace polypath::collective {

/// A program that is ready to be run again and again.
struct CollectiveProgram {
  CollectiveProgram(Program made, Executor by)
      : program(std::move(made)), structure(structure_of(program)), executor(by) {}

  Program program;
  std::string structure;
  Executor executor;  ///< stream or graph
};

}  // namespace polypath::collective
