/** Operations that roles hold, derived from the contract. Source: behaviour iam.md 7. */
import { contract } from '@hyperplane/contract'
import { Operation, operationOperations } from '@hyperplane/contract/iam/operation'
import { listOf, notFound } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import { releaseTime } from './catalogue/name-id.ts'
import { type IamOperation, iamOperations } from './catalogue/operations.ts'
import { visible } from './visible.ts'

export const operation = implement(operationOperations, {
  async listOperations(ctx, request) {
    return listOf(await visible(ctx, 'Operation', shownOperations(ctx)), request)
  },
  async getOperationById(ctx, { path }) {
    const extId = path['extId'] as string
    const found = (await visible(ctx, 'Operation', shownOperations(ctx))).find((one) => one.extId === extId)
    if (found === undefined) throw notFound(Operation, 'Operation', extId, 'extId')
    return found
  },
})

const shownOperations = (ctx: ReadContext) => [...iamOperations.values()].map((one) => shown(one, ctx.tenantId))

const shown = (one: IamOperation, tenantId: string) => ({
  extId: one.extId,
  tenantId,
  displayName: one.displayName,
  description: `${one.displayName.replaceAll('_', ' ')}.`,
  entityType: one.entityType,
  clientName: one.clientName,
  operationType: one.operationType,
  associatedEndpointList: one.endpoints.map((endpoint) => ({ apiVersion: 'V4', ...endpoint })) as never[],
  relatedOperationList: relatedTo(one),
  createdTime: releaseTime,
  lastUpdatedTime: releaseTime,
})

/** Who holds an operation wants to see what it acts on and what it refers to. */
const relatedTo = (one: IamOperation): string[] =>
  [...new Set([...one.kinds].flatMap((kind) => views.get(kind) ?? []))]
    .filter((name) => name !== one.displayName)
    .map((name) => iamOperations.get(name)?.extId as string)

const views = new Map<string, string[]>()
for (const { verb, resource, iamOperation } of contract.flatMap((namespace) => namespace.operations)) {
  if ((verb === 'get' || verb === 'list') && resource !== undefined)
    views.set(resource.kind, [...(views.get(resource.kind) ?? []), iamOperation])
}
