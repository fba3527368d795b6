/** An audit record without a task concerns the clusters of the named entity. */
import type { EntityOf, Resource } from '@hyperplane/contract'
import { clustermgmt } from '@hyperplane/contract/clustermgmt'
import { networking } from '@hyperplane/contract/networking'
import { platform } from '@hyperplane/contract/platform'
import { storage } from '@hyperplane/contract/storage'
import { vmm } from '@hyperplane/contract/vmm'
import { volumes } from '@hyperplane/contract/volumes'
import type { AuditRecord } from '../../core/records.ts'
import type { Reader } from '../../store/store.ts'

const resources = new Map<string, Resource>()
const kinds = new Map<string, Resource>()
for (const { operations } of [clustermgmt, networking, platform, storage, vmm, volumes])
  for (const { key, resource } of operations) {
    if (resource === undefined) continue
    resources.set(key, resource)
    kinds.set(resource.kind, resource)
  }

export async function clustersOfTarget(
  store: Reader,
  { operation, target }: EntityOf<typeof AuditRecord>,
): Promise<readonly string[]> {
  const resource = resources.get(operation)
  return resource === undefined || target === undefined ? [] : clustersOf(store, resource, target)
}

async function clustersOf(store: Reader, resource: Resource, extId: string): Promise<readonly string[]> {
  if (resource.kind === 'Cluster') return [extId]
  const { ofCluster } = resource
  if (resource.derived === true || ofCluster === undefined || 'stays' in ofCluster) return []
  const entity = await store.get(resource, extId)
  const found = entity === undefined ? [] : textsAt(entity, ofCluster.by.split('/'))
  const owner = ofCluster.partOf === undefined ? undefined : kinds.get(ofCluster.partOf)
  if (owner === undefined) return found
  return (await Promise.all(found.map((each) => clustersOf(store, owner, each)))).flat()
}

function textsAt(value: unknown, [name, ...rest]: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsAt(item, name === undefined ? [] : [name, ...rest]))
  if (name === undefined) return typeof value === 'string' ? [value] : []
  return typeof value === 'object' && value !== null ? textsAt((value as { [field: string]: unknown })[name], rest) : []
}
