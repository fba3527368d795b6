/** An entry whose group is the key of a shared error replaces that error here. Source: behaviour networking.md 1.1. */
export const networkingErrors = {
  CAPABILITY_NOT_SUPPORTED: {
    code: 'NETWORKING-10082',
    status: 409,
    message: 'The cluster does not support {capability}, or there is no network controller.',
  },
  DEFAULT_VIRTUAL_SWITCH: {
    code: 'NETWORKING-10085',
    status: 409,
    group: 'UNSUPPORTED_REQUEST',
    message: 'The default virtual switch cannot be {change}.',
  },
  DEFAULT_ROUTING_POLICY: {
    code: 'NETWORKING-10001',
    status: 400,
    group: 'INVALID_ARGUMENT',
    message: 'Modification of default routing policy with priority less than 10 is not allowed',
  },
  HOST_NIC_IN_USE: {
    code: 'NETWORKING-10070',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: '{nic} is in use by {holder}: a NIC is an uplink of one virtual switch. Choose another NIC.',
  },
  IP_ADDRESS_UNAVAILABLE: { code: 'NETWORKING-10080', status: 409, message: '{address} is already {state}.' },
  IP_POOL_EXHAUSTED: {
    code: 'NETWORKING-10081',
    status: 409,
    message: 'No free address in the pools of subnet {name} ({requested} requested, {free} free).',
  },
  MIRROR_PORTS_APART: {
    code: 'NETWORKING-10088',
    status: 409,
    group: 'UNSUPPORTED_REQUEST',
    message:
      'Sources and destinations have to be on the host {host}, but {apart}. Move the VMs, or name the virtual switch that carries the copies (virtualSwitchReference).',
  },
  NETWORK_CONTROLLER_DOES_NOT_FIT: {
    code: 'NETWORKING-10083',
    status: 409,
    group: 'INSUFFICIENT_RESOURCES',
    message: 'The nodes of the manager have no room for a network controller: {shortfall}',
  },
  NETWORK_CONTROLLER_DOWN: {
    code: 'NETWORKING-10503',
    status: 503,
    message: 'The network controller does not answer. Retry when it is up again.',
  },
  NETWORK_CONTROLLER_EXISTS: {
    code: 'NETWORKING-10071',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'There is a network controller already, {extId}: a deployment has one at most.',
  },
  NETWORK_FUNCTION_REFUSED: {
    code: 'NETWORKING-10001',
    status: 400,
    group: 'INVALID_ARGUMENT',
    message:
      'Failed to {verb} Network Function due to an invalid input parameter - Failed to configure network function {name}: {fault}',
  },
  NETWORKING_ENTITY_ALREADY_EXISTS: {
    code: 'NETWORKING-10071',
    status: 409,
    group: 'ENTITY_ALREADY_EXISTS',
    message: 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  NETWORKING_ENTITY_BUSY: {
    code: 'NETWORKING-10072',
    status: 409,
    group: 'ENTITY_BUSY',
    message: '{kind} {name} is being {change} by task {taskExtId}. Wait for it, then retry.',
  },
  NETWORKING_ENTITY_IN_USE: {
    code: 'NETWORKING-10070',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: 'The {kind} "{name}" is in use by {users}. Remove those first.',
  },
  NETWORKING_ENTITY_NOT_FOUND: {
    code: 'NETWORKING-10010',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: '{kind} {id} not found.',
  },
  NETWORKING_IMMUTABLE_ATTRIBUTE: {
    code: 'NETWORKING-10002',
    status: 400,
    group: 'IMMUTABLE_ATTRIBUTE',
    message: '{attributePath} cannot change after creation: expected {expected}, found {found}.',
  },
  NETWORKING_INVALID_ARGUMENT: {
    code: 'NETWORKING-10001',
    status: 400,
    group: 'INVALID_ARGUMENT',
    message: '{attributePath}: {fault}',
  },
  NETWORKING_LIMIT_EXCEEDED: {
    code: 'NETWORKING-10090',
    status: 422,
    group: 'LIMIT_EXCEEDED',
    message: '{limit}: at most {maximum}, found {found}.',
  },
  NETWORKING_REFERENCE_NOT_FOUND: {
    code: 'NETWORKING-10060',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message:
      'Failed to {verb} {kind} {name} as a referenced resource was not found - {referencedKind} {referencedExtId} not found',
  },
  REMOTE_SITE_UNREACHABLE: {
    code: 'NETWORKING-10504',
    status: 503,
    group: 'REMOTE_UNREACHABLE',
    message: 'The networks of the manager "{name}" cannot be read: {cause}. Retry when it answers.',
  },
  ROUTE_OF_THE_SYSTEM: {
    code: 'NETWORKING-10084',
    status: 409,
    group: 'UNSUPPORTED_REQUEST',
    message:
      'The route to {destination} is {routeType}: it follows its {source} and cannot be changed or deleted. Change static routes only.',
  },
  VIRTUAL_SWITCH_HOST_BUSY: {
    code: 'NETWORKING-10072',
    status: 409,
    group: 'ENTITY_BUSY',
    message: 'Host {host} is entering or leaving maintenance. Wait until it has, then retry.',
  },
  VIRTUAL_SWITCH_HOST_NOT_EMPTY: {
    code: 'NETWORKING-10086',
    status: 409,
    group: 'INSUFFICIENT_RESOURCES',
    message: 'The VMs of host {host} have no room on other hosts. Power them off, or send isQuickMode.',
  },
} as const
