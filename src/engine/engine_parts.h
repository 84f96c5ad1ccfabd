#pragma once
// The parts of an engine: each is given those before it that it needs.

#include <algorithm>
#include <memory>
#include <utility>

#include "core/background.h"
#include "core/brief_mutex.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "engine/call/statistics.h"
#include "engine/decide/decider.h"
#include "engine/decide/experience_decider.h"
#include "engine/decide/path_decider.h"
#include "engine/decide/piece_decider.h"
#include "engine/decide/recent_natives.h"
#include "engine/decide/set_decider.h"
#include "engine/decide/window_decider.h"
#include "engine/enqueue/copy_records.h"
#include "engine/enqueue/enqueuer.h"
#include "engine/enqueue/lane_runner.h"
#include "engine/enqueue/pageable_enqueuer.h"
#include "engine/enqueue/piece_runner.h"
#include "engine/enqueue/set_enqueuer.h"
#include "engine/enqueue/window_sender.h"
#include "engine/execute/lanes.h"
#include "engine/execute/loaded_kernels.h"
#include "engine/execute/side_streams.h"
#include "engine/execute/transfer.h"
#include "engine/learn/experience_keeper.h"
#include "engine/learn/learner.h"
#include "engine/load/load_tracker.h"
#include "engine/pageable/pageable.h"
#include "engine/planning/background_plans.h"
#include "engine/planning/plan_finder.h"
#include "engine/planning/plans.h"
#include "engine/prepare/kernel_preparer.h"
#include "engine/prepare/preparation_budget.h"
#include "engine/prepare/preparer.h"
#include "engine/prepare/window_preparer.h"
#include "machine/machine.h"

namespace polypath::engine {

struct EngineParts {
  EngineParts(Driver& used_driver, const Machine& described, const Settings& chosen,
              std::shared_ptr<LoadTracker> shared_load, std::shared_ptr<ExperienceKeeper> keeper,
              std::shared_ptr<PlanKeeper> plan_keeper)
      : driver(used_driver),
        machine(described),
        settings(chosen),
        load(shared_load ? std::move(shared_load) : std::make_shared<LoadTracker>(machine)),
        plans(machine, settings, settings.keep_plans ? std::move(plan_keeper) : nullptr),
        learner(driver, settings, plans, std::move(keeper), threads.planning) {}

  Driver& driver;
  Machine machine;
  Settings settings;
  std::shared_ptr<LoadTracker> load;
  mutable BriefMutex mutex;  ///< guards all that is not thread-safe

  // Makers of plans, and the means to carry them out.
  std::unique_ptr<Background> planning = background();
  std::unique_ptr<Background> making = background();
  BackgroundThreads threads{.planning = planning.get(), .making = making.get()};
  Plans plans;
  std::unique_ptr<BackgroundPlans> background_plans =
      planning ? std::make_unique<BackgroundPlans>(settings, plans, *planning) : nullptr;
  PlanFinder finder{machine, settings, plans, background_plans.get()};
  Statistics statistics;
  TransferIds ids;
  LoadedKernels kernels{driver, machine};  ///< before the lanes, whose streams run them
  SideStreams side_streams{driver};
  Lanes lanes{driver, machine, settings, statistics};
  Learner learner;
  PageableCopies pageable{
      driver, machine.driver, settings,
      [this](const PageableCopies::WindowCall& sent) { return window_sender.send(sent); }};

  PreparationBudget budget{driver, machine, settings};
  Preparer preparer{driver, machine, mutex, lanes, finder, budget, threads};
  KernelPreparer kernel_preparer{driver, machine, mutex, kernels, budget, threads.making};
  WindowPreparer window_preparer{machine.driver, settings, mutex, pageable, threads.making};

  RecentNatives recent{settings.min_message.value_or(kAlwaysPlanned)};
  ExperienceDecider experience_decider{learner, finder};
  WindowDecider window_decider{machine, settings, finder, pageable};
  PathDecider path_decider{driver, machine, settings, finder, *load, preparer, experience_decider};
  Decider decider{driver, finder, recent, path_decider, window_decider};
  PieceDecider piece_decider{driver, machine, settings, finder, *load, kernel_preparer};
  SetDecider set_decider{driver, settings, finder, *load, decider, piece_decider};

  CopyRecords records{driver, statistics, learner, *load, recent};
  LaneRunner runner{lanes, finder, preparer, ids};
  Enqueuer enqueuer{driver, machine, ids, path_decider, runner, records};
  WindowSender window_sender{driver, mutex, lanes, finder, path_decider, enqueuer, records};
  PageableEnqueuer pageable_enqueuer{driver,         machine,         mutex,    pageable,
                                     window_decider, window_preparer, enqueuer, records};
  PieceRunner piece_runner{machine,         lanes,  kernels,  ids,   preparer,
                           kernel_preparer, runner, enqueuer, *load, records};
  SetEnqueuer set_enqueuer{
      mutex, lanes, side_streams, set_decider, enqueuer, pageable_enqueuer, piece_runner};

 private:
  [[nodiscard]] std::unique_ptr<Background> background() const {
    if (settings.prepare != "background") return nullptr;
    auto made = std::make_unique<Background>();
    made->start();
    return made;
  }
};

}  // namespace polypath::engine
