#pragma once
// Where machines come from: the zoo compiled into the library, a file, or a seed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "machine/provenance.h"

namespace polypath::machine {

/// Names of the zoo's machines, sorted.
std::vector<std::string> zoo_names();

/// The machine called `name`: a zoo name, "synthetic:SEED", or a path to a JSON file (contains
/// '/' or ends in ".json"). Error (invalid_argument) for an unknown name lists the zoo; error
/// (invalid_machine) for a damaged file points at the offending field.
Machine load_machine(std::string_view name);

/// Reads the text of a machine file; `origin` names it in messages.
Machine parse_machine(std::string_view json, std::string_view origin);

/// The same with the numbers that its quantities had before they were measured ("nominal"); nothing
/// if no quantity has one.
std::optional<Machine> parse_nominal_machine(std::string_view json, std::string_view origin);

/// The text of a machine file. Error (invalid_argument) if it cannot be read.
std::string read_machine_file(const std::string& path);

/// The machine as a complete file of schema polypath.machine/1, every pattern expanded.
std::string machine_to_json(const Machine& machine);
/// The same with a source for every number, and the nominal number beside each measured one.
std::string machine_to_json(const Machine& machine, const Provenance& provenance);

/// A random but plausible machine, the same for the same seed: 2 to 8 GPUs; direct links, a
/// switch, PCIe only, or a mix; 1 to 4 host places; spreads of latency, bandwidth and capacity.
Machine synthetic_machine(std::uint64_t seed);

}  // namespace polypath::machine
