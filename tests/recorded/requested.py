# SPDX-License-Identifier: MIT
"""All requests, in the order in which they are asked."""

import requested_attention
import requested_classes
import requested_edges
import requested_functions
import requested_models
import requested_pairs
import requested_parameters
import requested_pictures
import requested_protocol
import requested_refusals
import requested_rotation
import requested_rules
import requested_tensors
import requested_values
import requested_views

PARTS = (
    requested_views,
    requested_rotation,
    requested_attention,
    requested_functions,
    requested_models,
    requested_protocol,
    requested_refusals,
    requested_rules,
)
# Many requests of one kind each, which differ in a value: they are left out where a process or a
# failing allocation is tried for each request.
POPULATIONS = (
    requested_parameters,
    requested_pictures,
    requested_edges,
    requested_classes,
    requested_values,
    requested_pairs,
    requested_tensors,
)


def requests(parts=(*PARTS, *POPULATIONS)):
    found = [request for part in parts for request in part.requests()]
    names = [request.name for request in found]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"more than one request is called {sorted(twice)}"
    return found


def groups():
    return list(dict.fromkeys(request.group for request in requests()))
