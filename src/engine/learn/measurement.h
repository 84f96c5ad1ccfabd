#pragma once
// A transfer that is timed.

#include <utility>

#include "engine/execute/stopwatch.h"
#include "engine/learn/experience.h"
#include "plan/plan.h"

namespace polypath::engine {

struct Measurement {
  Measurement(const TransferKind& of_kind, Advice by_advice, PlanPointer by_plan,
              StreamHandle in_stream, Seconds over_at, TimingEvents& events)
      : kind(of_kind),
        advice(std::move(by_advice)),
        plan(std::move(by_plan)),
        stream(in_stream),
        look_at(over_at),
        watch(events) {}

  TransferKind kind;
  Advice advice;
  PlanPointer plan;  ///< over several paths, also where it goes natively to be compared
  StreamHandle stream;
  Seconds look_at;  ///< it is not asked for before
  Stopwatch watch;
  bool of_exchange = false;  ///< compared with native copies; see ExperienceDecider
};

}  // namespace polypath::engine
