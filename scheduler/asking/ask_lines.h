#pragma once

// Calls of callers as lines of JSON, for other programs and languages: one object in, one object
// out.
//
//   {"ask": 2}                                {"trials": [{"trial": 0, "attempt": 1, "seed": 5,
//                                               "params": {"lr": 0.1}, "steps": 0, "folder":
//                                               "..."}]}
//   {"ask": 1, "params": {"lr": 0.1}}         likewise; with "state" where it needs no evaluation
//   {"report": 0, "step": 3, "values": V}     {"stop": false}
//   {"tell": 0, "values": V}                  {"state": "COMPLETE"}
//   {"tell": 0, "failed": "why"}              {"state": "FAIL"}
//   {"tell": 0, "pruned": true}               {"state": "PRUNED"}: worth what it reported
//   {"tell": 0, "released": true}             {"state": "WAITING"}: for whoever asks next
//   {"tell": [{"trial": 0, "values": V}]}     {"told": [{"state": "COMPLETE"}]}
//   {"tell": 0, "values": V, "ask": 1}        {"state": "COMPLETE", "trials": [...]}: durable
//   together
//   {"have": [0, 3]}                          {}: the caller's other trials wait for whoever asks
//   {"best": true}                            {"best": {"trial": 3, "params": P, "values": {...}}}
//   {"study": true}                           {"study": NAME, "objectives": [...], "trials": 5,
//                                              "finished": 4, "steps": 30, "version": "1.2.3"}
//
// V is {"loss": 0.3}, 0.3 where there is one objective, or a list in the order of the objectives;
// "NaN" is a number that fails the trial. "attempt" may stand beside "report" and "tell". Where
// there are no more trials, "none" says why; where outcomes of others are needed first, "trials" is
// shorter. What cannot be done is {"error": "one sentence"}.

#include <functional>
#include <string>
#include <string_view>

#include "encodings/study/study_config.h"
#include "scheduler/asking/callers.h"

namespace detol::inline scheduler {

using AnswerLine = std::function<void(std::string)>;

// Makes the call of a line. The answer comes on the driver's thread, or before this returns; both
// `callers` and `config` outlive it. A line has at most kMessageLimit bytes.
void call(Callers& callers, const StudyConfig& config, std::string_view line,
          const std::string& caller, AnswerLine answer);

}  // namespace detol::inline scheduler
