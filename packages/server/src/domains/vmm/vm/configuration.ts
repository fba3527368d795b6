/** The fields that an update replaces, and which may change while the VM runs. Source: behaviour vmm.md 1.1. */
import { vmm } from '@hyperplane/contract/vmm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { canonicalJson } from '../../../core/idempotency.ts'
import type { VmBody, VmEntity } from '../../virtual-machines/entity.ts'

/** Updates ignore these fields: they have operations of their own, and clients send back all fields that they read. */
const ownOperations = new Set<string>([
  ...vmm.resources.flatMap(({ parent }) => (parent?.kind === Vm.kind ? (parent.listedIn ?? []) : [])),
  ...['categories', 'customAttributes', 'guestTools', 'host', 'powerState'],
])
const keptWhenAbsent = new Set<string>(['biosUuid', 'guestCustomization', 'ownershipInfo', 'project', 'storageConfig'])
const changesWhileOn = new Set<string>([
  'description',
  'hardwareClockTimezone',
  'isBrandingEnabled',
  'isVgaConsoleEnabled',
  'memorySizeBytes',
  'name',
  'numSockets',
  'ownershipInfo',
  'project',
  'protectionPolicyState',
  'storageConfig',
])

const configurable = Object.entries(Vm.schema.fields)
  .filter(([name, field]) => !('readOnly' in field) && !('immutable' in field) && !ownOperations.has(name))
  .map(([name]) => name)

/** They follow from a new `guestCustomization`. */
const staged: readonly string[] = ['guestSettings', 'vmGuestCustomizationStatus']

/** Omitted fields are removed, except those of `keptWhenAbsent`. */
export function vmConfigurationOf(vm: VmEntity, body: VmBody): VmEntity {
  const next: Record<string, unknown> = { ...vm }
  for (const field of configurable) {
    const given = body[field as keyof VmBody]
    if (given !== undefined) next[field] = given
    else if (!keptWhenAbsent.has(field)) delete next[field]
  }
  if (body.guestCustomization === undefined) {
    next['guestCustomization'] = vm.guestCustomization
  } else {
    next['vmGuestCustomizationStatus'] = 'PENDING'
    delete next['guestSettings']
  }
  return next as VmEntity
}

export function changedFields(vm: VmEntity, next: VmEntity): string[] {
  return [...configurable, ...staged].filter((field) => {
    const [before, after] = [vm[field as keyof VmEntity], next[field as keyof VmEntity]]
    return canonicalJson(before ?? null) !== canonicalJson(after ?? null)
  })
}

export function hotFaults(vm: VmEntity, next: VmEntity): string[] {
  const grows = (field: 'memorySizeBytes' | 'numSockets'): boolean => (next[field] ?? 0) > (vm[field] ?? 0)
  return changedFields(vm, next).filter((field) => {
    if (staged.includes(field)) return false
    if (!changesWhileOn.has(field)) return true
    if (field === 'memorySizeBytes') return !grows(field)
    if (field === 'numSockets') return !grows(field) || vm.isCpuHotplugEnabled === false
    return false
  })
}
