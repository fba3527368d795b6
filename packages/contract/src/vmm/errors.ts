import { errorTable } from '../error-table.ts'

/** Errors of tasks carry the status of a refused request. Source: behaviour vmm.md 1.0. */
export const vmmErrors = {
  ...errorTable({
    ADDRESS_IN_USE: { 'VMM-30106 409': 'Another {kind} has the same {fields}. Choose one that is free, or none.' },
    CHECKSUM_MISMATCH: {
      'VMM-50001 422': 'The content does not have the checksum that was given: expected {expected}, found {found}.',
    },
    DISK_MIGRATION_STOPPED: {
      'VMM-30001 500 INTERNAL_ERROR':
        'The disk {disk} stays in the storage container {container}. Disks that were moved before it are not moved back: {moved}.',
    },
    GUEST_DID_NOT_RESPOND: {
      'VMM-30001 500 INTERNAL_ERROR':
        'The guest did not respond to {operation} in time; VM {name} is still ON. Power it off instead.',
    },
    GUEST_REFUSED_LOGIN: {
      'VMM-30001 500 INTERNAL_ERROR':
        'The guest of VM {name} refused the login of {username}. Send a credential that the guest accepts.',
    },
    GUEST_SCRIPT_FAILED: {
      'VMM-30001 500 INTERNAL_ERROR':
        'The power script of the guest of VM {name} failed before {operation}; the VM is still ON.',
    },
    GUEST_TOOLS_CURRENT: {
      'VMM-30103 409': 'The version {version} of the guest tools of VM {name} is already upgraded.',
    },
    GUEST_TOOLS_NOT_READY: { 'VMM-30103 409': 'The guest tools of VM {name} are not ready for {operation}: {reason}.' },
    HOT_CHANGE_NOT_ALLOWED: {
      'VMM-30101 409': 'VM {name} is ON; these cannot change now: {fields}. Power it off first.',
    },
    IMAGE_PLACEMENT_FORBIDDEN: {
      'VMM-30107 409':
        'The image {image} cannot be used on the cluster {cluster}: the image placement policy {policy} forbids it. ' +
        'Choose another cluster or image, or change the policy.',
    },
    INVALID_POWER_STATE: { 'VMM-30100 409': 'VM {name} is {state}; {operation} needs {states}.' },
    IP_OUT_OF_SUBNET: {
      'VMM-40003 409': 'The address {address} does not lie in the subnet {subnet}, or is its gateway or DHCP server.',
    },
    NAME_IN_USE: { 'VMM-30105 409': 'A {kind} with the same {fields} exists already. Choose another one.' },
    NO_HOST_FOR_VM: { 'VMM-40001 409': 'No host can run VM {name}: {reasons}.' },
    OUT_OF_STORAGE: { 'VMM-40002 409': 'The storage container {name} has {free} free bytes; {asked} were requested.' },
    OVA_SOURCE_VM_ABSENT: {
      'VMM-20005 404 ENTITY_NOT_FOUND': 'Creating the OVA "{name}" failed: the VM entity {id} is not present.',
    },
    OVA_UPLOAD_FAILED: {
      'VMM-50001 422 SOURCE_UNAVAILABLE': 'Failed to upload the OVA "{name}" from {source}: {cause}.',
    },
    SOURCE_UNAVAILABLE: { 'VMM-50001 422': '{action} failed: the source {source} is not available: {cause}.' },
    VMM_ENTITY_IN_USE: {
      'VMM-30104 409 ENTITY_IN_USE': 'The {kind} "{name}" is in use by {users}. Remove those first.',
    },
    VMM_INVALID_ARGUMENT: { 'VMM-10000 400 INVALID_ARGUMENT': '{attributePath}: expected {expected}, found {found}.' },
    VMM_IP_POOL_EXHAUSTED: { 'VMM-40003 409 IP_POOL_EXHAUSTED': 'No free address in the pools of subnet {name}.' },
    VMM_LIMIT_EXCEEDED: { 'VMM-40004 422 LIMIT_EXCEEDED': '{limit}: at most {maximum}, found {found}.' },
    VMM_TASK_INTERRUPTED: { 'VMM-30001 500 INTERNAL_ERROR': 'The task was interrupted and undone: {cause}.' },
    VM_BUSY: { 'VMM-30102 409': 'VM {name} cannot take the operation now: {reason}. Retry later.' },
    VM_ETAG_MISMATCH: {
      'VMM-30303 412':
        'If-Match header value passed is not the current entity tag of the {kind}. Read it again and retry.',
    },
  }),
  VMM_ENTITY_NOT_FOUND: {
    code: 'VMM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'The service could not find the entity: {kind} {id} ({attribute}).',
    argumentNames: { kind: 'entityType', id: 'extId', attribute: 'attributePath' },
  },
  VMM_REFERENCE_NOT_FOUND: {
    code: 'VMM-20005',
    status: 404,
    group: 'ENTITY_NOT_FOUND',
    message: 'The service could not find the entity: {referencedKind} {referencedExtId} ({attributePath}).',
    argumentNames: { referencedKind: 'entityType', referencedExtId: 'extId' },
  },
} as const
