/** Older to current field names; others are stored in `legacy`. Source: behaviour volumes-storage.md 1.8 (map of names). */

import type { BodyOf, EntityOf, Fields, ValueOf } from '@hyperplane/contract'
import { StorageContainer as Container } from '@hyperplane/contract/clustermgmt/storage-container'
import { StorageContainer as OlderContainer } from '@hyperplane/contract/storage/storage-container'
import { defined } from '../../core/defined.ts'

export type Older = ValueOf<typeof OlderContainer>
type Entity = EntityOf<typeof Container>

const newerNames = {
  advertisedCapacity: 'logicalAdvertisedCapacityBytes',
  affinityHostUuid: 'affinityHostExtId',
  compressionDelayInSecs: 'compressionDelaySecs',
  compressionEnabled: 'isCompressionEnabled',
  enableSoftwareEncryption: 'isSoftwareEncryptionEnabled',
  encrypted: 'isEncrypted',
  inlineEcEnabled: 'isInlineEcEnabled',
  isNutanixManaged: 'isInternal',
  markedForRemoval: 'isMarkedForRemoval',
  maxCapacity: 'maxCapacityBytes',
  ownerUuid: 'ownerExtId',
  preferHigherECFaultDomain: 'hasHigherEcFaultDomainPreference',
  storagePoolUuid: 'storagePoolExtId',
  totalExplicitReservedCapacity: 'logicalExplicitReservedCapacityBytes',
  totalImplicitReservedCapacity: 'logicalImplicitReservedCapacityBytes',
} as const

/** Their values differ as well. */
const switches = {
  erasureCode: 'erasureCode',
  fingerPrintOnWrite: 'cacheDeduplication',
  onDiskDedup: 'onDiskDedup',
} as const

const olderFields: Fields = OlderContainer.fields
const sameNames = Object.keys(olderFields).filter((name) => name in Container.schema.fields && !(name in switches))
const withoutCounterpart = Object.keys(olderFields).filter(
  (name) =>
    olderFields[name]?.readOnly !== true && !(name in newerNames) && !(name in switches) && !sameNames.includes(name),
)

const olderSwitch: Readonly<Record<string, string>> = { OFF: 'false', ON: 'true' }
const newerSwitch: Readonly<Record<string, string>> = { false: 'OFF', true: 'ON' }

export function olderContainer(container: Entity, containerId: string | undefined): Older {
  const given = container as Readonly<Record<string, unknown>>
  const older: Record<string, unknown> = {
    vstoreNameList: [container.name],
    ...(container.legacy as object),
    containerId,
  }
  for (const name of sameNames) older[name] = given[name]
  for (const [name, newer] of Object.entries(newerNames)) older[name] = given[newer]
  for (const [name, newer] of Object.entries(switches)) {
    const value = given[newer] as string | undefined
    older[name] = value === undefined ? undefined : (olderSwitch[value] ?? value)
  }
  return defined(older) as Older
}

export function newerBody(older: Partial<Older>): BodyOf<typeof Container> {
  const given = older as Readonly<Record<string, unknown>>
  const body: Record<string, unknown> = {}
  for (const name of sameNames) body[name] = given[name]
  for (const [name, newer] of Object.entries(newerNames)) body[newer] = given[name]
  for (const [name, newer] of Object.entries(switches)) {
    const value = given[name] as string | undefined
    body[newer] = value === undefined ? undefined : (newerSwitch[value] ?? value)
  }
  return defined(body) as BodyOf<typeof Container>
}

export function legacyFields(older: Partial<Older>): object | undefined {
  const given = older as Readonly<Record<string, unknown>>
  const legacy = defined(Object.fromEntries(withoutCounterpart.map((name) => [name, given[name]])))
  return Object.keys(legacy).length > 0 ? legacy : undefined
}
