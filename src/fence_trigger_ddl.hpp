// Making, dropping and enabling fence triggers.
//
// It is done as the owner of the extension, since whoever owns a table need not be granted the trigger functions; whose
// table it is has been checked before. So nothing of anybody else's may run meanwhile: relations are given by oid, and
// the server's functions are called instead of statements, which would fire event triggers with the owner's rights and
// the caller's search_path.
#pragma once

#include "protection.hpp"

namespace gatepost {

// Makes the row or the statement trigger on a relation that is locked for it (ShareRowExclusiveLock).
void make_fence_trigger(Oid relation, const FenceTrigger &like, bool for_rows);

// Drops a trigger, and the clones of it in partitions.
void drop_fence_trigger(const FenceTrigger &trigger);

// Lets it fire whatever session_replication_role says.
void enable_always(Oid relation, const FenceTrigger &trigger);

} // namespace gatepost
