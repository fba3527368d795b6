/** Entities that policies can name, with their attributes for filters. Source: behaviour iam.md 7, 9.3. */

import { contract, type Resource } from '@hyperplane/contract'
import { catalogueId } from '../../../core/ids/named-id.ts'
import { pathOf } from '../../../core/standard.ts'
import { clientNameOf } from './clients.ts'
import { iamOperations } from './operations.ts'

export interface IamEntity {
  readonly extId: string
  readonly name: string
  readonly displayName: string
  readonly clientName: string
  readonly searchURL?: string
  readonly attributes: readonly string[]
  readonly resource?: Resource
}

function derive(): ReadonlyMap<string, IamEntity> {
  const entities = new Map<string, IamEntity>()
  for (const namespace of contract) {
    for (const resource of namespace.resources) {
      if (resource.iam === undefined || entities.has(resource.iam.name)) continue
      const list = namespace.operations.find(
        (one) => one.verb === 'list' && one.resource === resource && !one.path.includes('{'),
      )
      entities.set(resource.iam.name, {
        ...described(resource.iam.name, clientNameOf(namespace.name)),
        ...(list === undefined ? {} : { searchURL: `/${namespace.name}/${list.versions[0]}${list.path}` }),
        attributes: ['*', 'uuid', ...Object.keys(resource.iam.attributes)],
        resource,
      })
    }
  }
  for (const { entityType, clientName } of iamOperations.values()) {
    if (!entities.has(entityType))
      entities.set(entityType, { ...described(entityType, clientName), attributes: ['*', 'uuid'] })
  }
  return new Map([...entities].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const described = (name: string, clientName: string) => ({
  extId: catalogueId('entity', name),
  name,
  displayName: name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' '),
  clientName,
})

export const iamEntities = derive()

/** Plural -> name: clients write both `image` and `images`. */
const plurals = new Map([...iamEntities.keys()].map((name) => [name.replace(/y$/, 'ie') + 's', name]))

export const entityNamed = (name: string): IamEntity | undefined =>
  iamEntities.get(name) ?? iamEntities.get(plurals.get(name) ?? '')

export function isCollection(entity: IamEntity, attribute: string): boolean {
  const path = entity.resource?.iam?.attributes[attribute]
  return path !== undefined && pathOf(entity.resource as Resource, path).hops.length > 1
}
