import { errorTable } from '../error-table.ts'

/** An entry whose group is the key of a shared error replaces that error here. Source: behaviour networking.md 1.1. */
export const networkingErrors = errorTable({
  CAPABILITY_NOT_SUPPORTED: {
    'NETWORKING-10082 409': 'The cluster does not support {capability}, or there is no network controller.',
  },
  DEFAULT_VIRTUAL_SWITCH: {
    'NETWORKING-10085 409 UNSUPPORTED_REQUEST': 'The default virtual switch cannot be {change}.',
  },
  DEFAULT_ROUTING_POLICY: {
    'NETWORKING-10001 400 INVALID_ARGUMENT':
      'Modification of default routing policy with priority less than 10 is not allowed',
  },
  HOST_NIC_IN_USE: {
    'NETWORKING-10070 409 ENTITY_IN_USE':
      '{nic} is in use by {holder}: a NIC is an uplink of one virtual switch. Choose another NIC.',
  },
  IP_ADDRESS_UNAVAILABLE: { 'NETWORKING-10080 409': '{address} is already {state}.' },
  IP_POOL_EXHAUSTED: {
    'NETWORKING-10081 409': 'No free address in the pools of subnet {name} ({requested} requested, {free} free).',
  },
  MIRROR_PORTS_APART: {
    'NETWORKING-10088 409 UNSUPPORTED_REQUEST':
      'Sources and destinations have to be on the host {host}, but {apart}. Move the VMs, or name the virtual switch that carries the copies (virtualSwitchReference).',
  },
  NETWORK_CONTROLLER_DOES_NOT_FIT: {
    'NETWORKING-10083 409 INSUFFICIENT_RESOURCES':
      'The nodes of the manager have no room for a network controller: {shortfall}',
  },
  NETWORK_CONTROLLER_DOWN: {
    'NETWORKING-10503 503': 'The network controller does not answer. Retry when it is up again.',
  },
  NETWORK_CONTROLLER_EXISTS: {
    'NETWORKING-10071 409 ENTITY_ALREADY_EXISTS':
      'There is a network controller already, {extId}: a deployment has one at most.',
  },
  NETWORK_FUNCTION_REFUSED: {
    'NETWORKING-10001 400 INVALID_ARGUMENT':
      'Failed to {verb} Network Function due to an invalid input parameter - Failed to configure network function {name}: {fault}',
  },
  NETWORKING_CONFLICT: { 'NETWORKING-10089 409 CONFLICT': '{fault}' },
  NETWORKING_ENTITY_ALREADY_EXISTS: {
    'NETWORKING-10071 409 ENTITY_ALREADY_EXISTS':
      'A {kind} with the same {fields} exists already. Choose another value.',
  },
  NETWORKING_ENTITY_BUSY: {
    'NETWORKING-10072 409 ENTITY_BUSY': '{kind} {name} is being {change} by task {taskExtId}. Wait for it, then retry.',
  },
  NETWORKING_ENTITY_IN_USE: {
    'NETWORKING-10070 409 ENTITY_IN_USE': 'The {kind} "{name}" is in use by {users}. Remove those first.',
  },
  NETWORKING_ENTITY_NOT_FOUND: { 'NETWORKING-10010 404 ENTITY_NOT_FOUND': '{kind} {id} not found.' },
  NETWORKING_IMMUTABLE_ATTRIBUTE: {
    'NETWORKING-10002 400 IMMUTABLE_ATTRIBUTE':
      '{attributePath} cannot change after creation: expected {expected}, found {found}.',
  },
  NETWORKING_INVALID_ARGUMENT: { 'NETWORKING-10001 400 INVALID_ARGUMENT': '{attributePath}: {fault}' },
  NETWORKING_LIMIT_EXCEEDED: { 'NETWORKING-10090 422 LIMIT_EXCEEDED': '{limit}: at most {maximum}, found {found}.' },
  NETWORKING_REFERENCE_NOT_FOUND: {
    'NETWORKING-10060 404 ENTITY_NOT_FOUND':
      'Failed to {verb} {kind} {name} as a referenced resource was not found - {referencedKind} {referencedExtId} not found',
  },
  REMOTE_SITE_UNREACHABLE: {
    'NETWORKING-10504 503 REMOTE_UNREACHABLE':
      'The networks of the manager "{name}" cannot be read: {cause}. Retry when it answers.',
  },
  ROUTE_OF_THE_SYSTEM: {
    'NETWORKING-10084 409 UNSUPPORTED_REQUEST':
      'The route to {destination} is {routeType}: it follows its {source} and cannot be changed or deleted. Change static routes only.',
  },
  VIRTUAL_SWITCH_HOST_BUSY: {
    'NETWORKING-10072 409 ENTITY_BUSY':
      'Host {host} is entering or leaving maintenance. Wait until it has, then retry.',
  },
  VIRTUAL_SWITCH_HOST_NOT_EMPTY: {
    'NETWORKING-10086 409 INSUFFICIENT_RESOURCES':
      'The VMs of host {host} have no room on other hosts. Power them off, or send isQuickMode.',
  },
})
