#pragma once

// ReportSource: everything that the report of one study is made of, as it was read from the
// knowledge base. Nothing in this room reads a database.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encodings/network/network.h"
#include "encodings/study/study_config.h"
#include "knowledge/labels.h"
#include "knowledge/query.h"
#include "surrogate/importance.h"

namespace detol::inline report {

// ShownNetwork: the network of one of the best trials.
struct ShownNetwork {
  TrialId trial = 0;
  Network network;
  std::string svg = {};         // its picture by Graphviz
  std::string why_no_svg = {};  // else why there is none, in a sentence
};

struct ReportSource {
  StudyRecord study;
  StudyConfig config;
  Rows trials;                // all columns of v_trials, in the order of `trial`
  std::vector<Event> events;  // of the study
  std::vector<event::Model> models;
  std::map<LabelTarget, Labels> labels;
  Rows runs;     // v_runs with the columns cpu, cores, gpus_json of v_hosts, oldest first
  Rows dataset;  // v_datasets: no row or one
  std::optional<TrialId> best;  // as `detol best` has it
  std::vector<ChoiceImportance> importance;
  std::string why_no_importance;
  std::vector<ShownNetwork> networks;  // best first
  std::string why_no_networks;
  std::vector<std::string> landscapes;  // the files that `detol landscape` wrote, best trial first
  std::string version;                  // of detol
  double now_s = 0;                     // seconds since 1970
};

}  // namespace detol::inline report
