#pragma once

// The parameters of a program as the space file writes them.

#include <map>
#include <string>

#include "encodings/space/genome.h"
#include "encodings/study/study_config.h"

namespace detol::inline encoding {

// Returns the words of StudyConfig::parameters(), as the file has them: 1e-3, not 0.001. Reads the
// text of the config. REQUIRES: the genome is one of its space, and it has a command or is external.
std::map<std::string, std::string, std::less<>> written_parameters(const StudyConfig& config,
                                                                   const Genome& genome);

}  // namespace detol::inline encoding
