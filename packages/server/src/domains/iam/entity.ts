/** Entities that policies can name, derived from the contract. Source: behaviour iam.md 7, 9.3. */

import { Entity, entityOperations } from '@hyperplane/contract/iam/entity'
import { catalogueId } from '../../core/ids/named-id.ts'
import { itemWithId, listOf } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import { type IamEntity, iamEntities, isCollection } from './catalogue/entities.ts'
import { releaseTime } from './catalogue/release.ts'
import { visible } from './visible.ts'

export const entity = implement(entityOperations, {
  async listEntities(ctx, request) {
    return listOf(await visible(ctx, 'Entity', presentedEntities(ctx)), request)
  },
  getEntityById: async (ctx, { path }) =>
    itemWithId(await visible(ctx, 'Entity', presentedEntities(ctx)), Entity, path.extId),
})

const presentedEntities = (ctx: ReadContext) => [...iamEntities.values()].map((one) => presentEntity(one, ctx.tenantId))

const presentEntity = (one: IamEntity, tenantId: string) => ({
  extId: one.extId,
  tenantId,
  name: one.name,
  displayName: one.displayName,
  description: `Policies narrow ${one.displayName.toLowerCase()} by these attributes.`,
  clientName: one.clientName,
  attributeList: one.attributes.map((name) => attribute(one, name)),
  isLogicalAndSupportedForAttributes: one.attributes.length > 2,
  ...(one.searchURL === undefined ? {} : { searchURL: one.searchURL }),
  createdBy: '00000000-0000-0000-0000-000000000000',
  createdTime: releaseTime,
  lastUpdatedTime: releaseTime,
})

function attribute(one: IamEntity, name: string) {
  const single: ('ANYOF' | 'EQ' | 'NONEOF' | 'NOTEQ' | 'ALLOF')[] = ['ANYOF', 'EQ', 'NONEOF', 'NOTEQ']
  const operators = name === '*' ? single.slice(1, 2) : isCollection(one, name) ? [...single, 'ALLOF' as const] : single
  const values = name === '*' || name === 'uuid' ? ['*'] : name === 'owner_uuid' ? ['SELF_OWNED'] : undefined
  return {
    extId: catalogueId('attribute', `${one.name}/${name}`),
    name,
    displayName: name === '*' ? 'All' : name.replaceAll('_', ' '),
    supportedOperators: operators,
    ...(values === undefined ? {} : { attributeValues: values }),
  }
}
