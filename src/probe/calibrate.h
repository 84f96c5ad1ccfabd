#pragma once
// Calibration: a driver in, a machine out. The machine's structure (places, resources, hops, which
// hop uses what, engines) is taken as given; every number in it is measured through the Driver
// interface alone, by the same code on simulated and on real GPUs.
//
//   1. what calls cost            probe/call_costs.h
//   2. α and β of every hop       probe/hop_times.h; from the same chains the cost of synchronize
//   3. ε of every place           probe/staging.h
//   4. what graphs cost           probe/call_costs.h
//   5. every capacity             probe/capacities.h
//   6. bursts, where there are    probe/bursts.h
//   7. how much two threads hold each other up, if they do    probe/hold_up.h
//
// Not observable, and taken as the highest total that was seen to pass: a capacity that something
// else always hides, such as a port of a GPU whose engine makes one copy at a time, or a host
// memory that is faster than all PCIe links together. No transfer can then tell the difference.

#include <functional>
#include <string>

#include "driver/driver.h"
#include "machine/machine.h"
#include "machine/provenance.h"
#include "probe/samples.h"

namespace polypath::probe {

/// Called with (done, total); may throw to give up.
using Progress = std::function<void(int, int)>;

struct CalibrationOptions {
  Trust trust;
  std::string date;  ///< for the sources: "2026-11-21"
};

/// A machine with measured numbers, and for each how it was measured.
struct Calibration {
  Machine machine;
  Provenance provenance;
};

/// The consequence where calibration found no staging latency of a place, and the remedy; a
/// sentence.
std::string consequence_of_missing(const std::string& place);
/// The same of all such places of a machine; empty if there is none.
std::string incompleteness(const Machine& machine);

/// Measures all numbers of `nominal` on `driver`, whose places are those of the machine in order.
/// The machine must be otherwise idle. A staging latency that cannot be found is marked as missing
/// at its place. Errors: noisy_machine names any other number that was noisy; driver and
/// out_of_memory as the driver throws them. Everything is given back in all cases.
Calibration calibrate(Driver& driver, const Machine& nominal, const CalibrationOptions& options,
                      const Progress& progress = {});

}  // namespace polypath::probe
