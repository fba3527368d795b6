/** IAM operations that roles hold, derived from the contract. Source: behaviour iam.md 7. */
import { contract } from '@hyperplane/contract'
import { Operation, operationOperations } from '@hyperplane/contract/iam/operation'
import { itemWithId, listOf } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import { iamEntities } from './catalogue/entities.ts'
import { type IamOperation, iamOperations } from './catalogue/operations.ts'
import { releaseTime } from './catalogue/release.ts'
import { entityNameOf, scopedKind } from './catalogue/scoped-kind.ts'
import { viewsOf, viewsOfEntity } from './catalogue/views.ts'
import { visible } from './visible.ts'

export const operation = implement(operationOperations, {
  async listOperations(ctx, request) {
    return listOf(await visible(ctx, 'Operation', presentedOperations(ctx)), request)
  },
  getOperationById: async (ctx, { path }) =>
    itemWithId(await visible(ctx, 'Operation', presentedOperations(ctx)), Operation, path.extId),
})

const presentedOperations = (ctx: ReadContext) =>
  [...iamOperations.values()].map((one) => presentOperation(one, ctx.tenantId))

const presentOperation = (one: IamOperation, tenantId: string) => ({
  extId: one.extId,
  tenantId,
  displayName: one.displayName,
  description: `${one.displayName.replaceAll('_', ' ')}.`,
  entityType: one.entityType,
  clientName: one.clientName,
  operationType: one.operationType,
  associatedEndpointList: one.endpoints.map((endpoint) => ({ apiVersion: 'V4' as const, ...endpoint })),
  relatedOperationList: relatedTo(one),
  createdTime: releaseTime,
  lastUpdatedTime: releaseTime,
})

function relatedTo(one: IamOperation): string[] {
  const kind = iamEntities.get(one.entityType)?.resource?.kind
  const own = kind === undefined ? viewsOfEntity(one.entityType) : viewsOfKind(kind)
  const names = new Set([...own, ...[...one.kinds].flatMap(viewsOfKind)])
  return [...names].map((name) => (iamOperations.get(name) as IamOperation).extId)
}

function viewsOfKind(kind: string): readonly string[] {
  const resource = kinds.get(kind)
  return viewsOf(kind, resource === undefined ? undefined : entityNameOf(scopedKind(resource)))
}

const kinds = new Map(contract.flatMap((namespace) => namespace.resources).map((resource) => [resource.kind, resource]))
