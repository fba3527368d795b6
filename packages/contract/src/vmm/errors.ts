/** Errors of tasks carry the status of a refused request. Source: behaviour vmm.md 1.0. */
export const vmmErrors = {
  ADDRESS_IN_USE: {
    code: 'VMM-30106',
    status: 409,
    message: 'Another {kind} has the same {fields}. Choose one that is free, or none.',
  },
  CHECKSUM_MISMATCH: {
    code: 'VMM-50001',
    status: 422,
    message: 'The content does not have the checksum that was given: expected {expected}, found {found}.',
  },
  DISK_MIGRATION_STOPPED: {
    code: 'VMM-30001',
    status: 500,
    group: 'INTERNAL_ERROR',
    message: 'The disk {disk} stays in the storage container {container}. Moved before, and not moved back: {moved}.',
  },
  GUEST_DID_NOT_RESPOND: {
    code: 'VMM-30001',
    status: 500,
    group: 'INTERNAL_ERROR',
    message: 'The guest did not respond to {operation} in time; VM {name} is still ON. Power it off instead.',
  },
  GUEST_REFUSED_LOGIN: {
    code: 'VMM-30001',
    status: 500,
    group: 'INTERNAL_ERROR',
    message: 'The guest of VM {name} refused the login of {username}. Send a credential that the guest accepts.',
  },
  GUEST_SCRIPT_FAILED: {
    code: 'VMM-30001',
    status: 500,
    group: 'INTERNAL_ERROR',
    message: 'The power script of the guest of VM {name} failed before {operation}; the VM is still ON.',
  },
  GUEST_TOOLS_CURRENT: {
    code: 'VMM-30103',
    status: 409,
    message: 'The version {version} of the guest tools of VM {name} is already upgraded.',
  },
  GUEST_TOOLS_NOT_READY: {
    code: 'VMM-30103',
    status: 409,
    message: 'The guest tools of VM {name} are not ready for {operation}: {reason}.',
  },
  HOT_CHANGE_NOT_ALLOWED: {
    code: 'VMM-30101',
    status: 409,
    message: 'VM {name} is ON; these cannot change now: {fields}. Power it off first.',
  },
  IMAGE_PLACEMENT_FORBIDDEN: {
    code: 'VMM-30107',
    status: 409,
    message:
      'The image {image} cannot be used on the cluster {cluster}: the image placement policy {policy} forbids it. ' +
      'Choose another cluster or image, or change the policy.',
  },
  INVALID_POWER_STATE: { code: 'VMM-30100', status: 409, message: 'VM {name} is {state}; {operation} needs {states}.' },
  IP_OUT_OF_SUBNET: {
    code: 'VMM-40003',
    status: 409,
    message: 'The address {address} does not lie in the subnet {subnet}, or is its gateway or DHCP server.',
  },
  NAME_IN_USE: {
    code: 'VMM-30105',
    status: 409,
    message: 'A {kind} with the same {fields} exists already. Choose another one.',
  },
  NO_HOST_FOR_VM: { code: 'VMM-40001', status: 409, message: 'No host can run VM {name}: {reasons}.' },
  OUT_OF_STORAGE: {
    code: 'VMM-40002',
    status: 409,
    message: 'The storage container {name} has {free} free bytes; {asked} were asked for.',
  },
  OVA_SOURCE_VM_ABSENT: {
    code: 'VMM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'Creating the OVA "{name}" failed: the VM entity {id} is not present.',
  },
  OVA_UPLOAD_FAILED: {
    code: 'VMM-50001',
    status: 422,
    group: 'SOURCE_UNAVAILABLE',
    message: 'Failed to upload the OVA "{name}" from {source}: {cause}.',
  },
  SOURCE_UNAVAILABLE: {
    code: 'VMM-50001',
    status: 422,
    message: '{action} failed: the source {source} is not available: {cause}.',
  },
  VMM_ENTITY_IN_USE: {
    code: 'VMM-30104',
    status: 409,
    group: 'ENTITY_IN_USE',
    message: 'The {kind} "{name}" is in use by {users}. Remove those first.',
  },
  VMM_ENTITY_NOT_FOUND: {
    code: 'VMM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'The service could not find the entity: {kind} {id} ({attribute}).',
    argumentNames: { kind: 'entityType', id: 'extId', attribute: 'attributePath' },
  },
  VMM_INVALID_ARGUMENT: {
    code: 'VMM-10000',
    status: 400,
    group: 'INVALID_ARGUMENT',
    message: '{attributePath}: expected {expected}, found {found}.',
  },
  VMM_IP_POOL_EXHAUSTED: {
    code: 'VMM-40003',
    status: 409,
    group: 'IP_POOL_EXHAUSTED',
    message: 'No free address in the pools of subnet {name}.',
  },
  VMM_LIMIT_EXCEEDED: {
    code: 'VMM-40004',
    status: 422,
    group: 'LIMIT_EXCEEDED',
    message: '{limit}: at most {maximum}, found {found}.',
  },
  VMM_REFERENCE_NOT_FOUND: {
    code: 'VMM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'The service could not find the entity: {referencedKind} {referencedExtId} ({attributePath}).',
    argumentNames: { referencedKind: 'entityType', referencedExtId: 'extId' },
  },
  VMM_TASK_INTERRUPTED: {
    code: 'VMM-30001',
    status: 500,
    group: 'INTERNAL_ERROR',
    message: 'The task was interrupted and undone: {cause}.',
  },
  VM_BUSY: {
    code: 'VMM-30102',
    status: 409,
    message: 'VM {name} cannot take the operation now: {reason}. Retry later.',
  },
  VM_ETAG_MISMATCH: {
    code: 'VMM-30303',
    status: 412,
    message: 'If-Match header value passed is not the current entity tag of the {kind}. Read it again and retry.',
  },
} as const
