#pragma once
// The papers' model of one path, as they state it ("001" is Sojoodi et al., SC Workshops 2025).
//
// A path carries b = θ·n bytes. Its first leg has latency α and bandwidth β; a staged path has a
// second leg α', β' and a synchronisation cost ε at the staging place.
//
//   direct      T = α + b/β                                                        (001 eq. 1)
//   staged      T = α + b/β + ε + α' + b/β'                                        (001 eq. 2)
//   pipelined   T = k(α + b/kβ) + ε + α' + b/kβ'        if β < β'  (first leg slower)
//               T = α + b/kβ + k(ε + α' + b/kβ')        otherwise                  (001 eq. 13)
//   best k      k = √(b/αβ')   or   k = √(b/β(ε+α'))                               (001 eq. 14, 15)
//   shares      θᵢ = (1/Ωᵢ)/Σ(1/Ωⱼ) · (1 − Δᵢ/n·Σ(1/Ωⱼ) + (1/n)·Σ(Δⱼ/Ωⱼ))          (001 eq. 11, 24)

#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace polypath::model {

/// One copy of a path: α and β.
struct Leg {
  Seconds latency;
  BytesPerSecond bandwidth;
};

/// A path for the papers' equations: one leg, or two with a staging cost ε between them.
struct HockneyPath {
  Leg first;
  std::optional<Leg> second;
  Seconds staging;
};

/// T = b·slope + offset: Ω (seconds per byte) and Δ of 001 eq. 21.
struct LinearTime {
  double slope = 0;
  Seconds offset;
};

/// 001 eq. 24: shares that add up to 1. A share that would be negative is set to zero and the
/// others solved again, as the paper excludes paths.
std::vector<double> closed_form_shares(std::span<const LinearTime> paths, Bytes bytes);

}  // namespace polypath::model
