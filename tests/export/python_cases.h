#pragma once

// Files for Python scripts of this folder, which run exported models with other programs, if
// python3 has them.

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/export/sample_models.h"
#include "trainer/predict.h"

namespace detol::testing {

inline void write_floats(const std::filesystem::path& path, const std::vector<float>& floats) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(floats.data()),
             static_cast<std::streamsize>(floats.size() * sizeof(float)));
}

// Writes the files of a format.
inline void write_export(const std::string& stem, const Model& model, std::string_view format) {
  for (const ExporterRow& row : exporters()) {
    if (row.name != format) continue;
    const auto written = row.write(model, stem + std::string(row.extension));
    ASSERT_TRUE(written) << written.error().message;
  }
}

// Writes the model in a format, random images, and the reference backend's logits for them.
inline void write_case(const std::filesystem::path& stem, Model model, std::string_view format) {
  model.is_raw = true;
  constexpr std::int64_t kImages = 3;
  Rng rng(7);
  std::vector<float> pixels, normalised;
  const Shape shape = model.network.input_shape();
  const std::int64_t plane = shape.height * shape.width;
  for (std::int64_t i = 0; i < kImages * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    pixels.push_back(static_cast<float>(rng.uniform()));
    normalised.push_back((pixels.back() - model.mean[channel]) / model.deviation[channel]);
  }
  const auto logits = logits_of(model.network, model.weights, normalised, "reference");
  ASSERT_TRUE(logits) << logits.error().message;
  write_export(stem.string(), model, format);
  write_floats(stem.string() + ".pixels", pixels);
  write_floats(stem.string() + ".logits", *logits);
}

// Runs a script of this folder on a folder of cases; nullopt if python3 lacks what it needs.
inline std::optional<int> run_python(const std::string& script,
                                     const std::filesystem::path& folder) {
  constexpr int kNoModule = 77, kNoPython = 127;  // the exit codes of the script and the shell
  const std::string command = "python3 " DETOL_SOURCE_DIR "/tests/export/" + script;
  const int status = std::system((command + " " + folder.string()).c_str());
  if (!WIFEXITED(status)) return -1;
  const int code = WEXITSTATUS(status);
  return code == kNoModule || code == kNoPython ? std::nullopt : std::optional(code);
}

}  // namespace detol::testing
