/** Step 14: ids in the body exist, and the caller may refer to them. Source: conventions 1, 16.9. */

import type { Operation, Resource } from '@hyperplane/contract'
import { errorCatalogue } from '@hyperplane/contract/error-catalogue'
import type { Reader } from '../../store/store.ts'
import { isInScope } from '../access/scope.ts'
import { ApiError, refuseAll } from '../api-error.ts'
import type { Document } from '../document.ts'
import { referencesIn } from '../input/validate.ts'
import { notFound } from '../standard.ts'
import type { Call } from './call.ts'
import type { MutationMachinery } from './machinery.ts'

/** @throws ApiError 404 with one fault for each missing entity */
export async function checkReferences<D>(
  { kinds, access }: MutationMachinery<D>,
  reader: Reader,
  { operation, caller, input }: Call,
): Promise<void> {
  if (operation.body === undefined || input.body === undefined) return
  const faults: ApiError[] = []
  const mayRefer = async (resource: Resource, extId: string): Promise<boolean> => {
    const entity = await reader.get(resource, extId)
    return entity !== undefined && isInScope(await access.referScope(caller, operation, resource), entity)
  }
  for (const reference of referencesIn(operation.body, input.body)) {
    const resource = kinds.resource(reference.kind)
    if (resource === undefined || resource.derived === true || (await mayRefer(resource, reference.extId))) continue
    const other = reference.orKind === undefined ? undefined : kinds.resource(reference.orKind)
    if (other !== undefined && (await mayRefer(other, reference.extId))) continue
    faults.push(referenceNotFound(operation, resource, reference, input.body))
  }
  refuseAll(faults)
}

function referenceNotFound(
  operation: Operation,
  resource: Resource,
  reference: { kind: string; extId: string; path: string },
  body: unknown,
): ApiError {
  const key = `${operation.namespace.toUpperCase()}_REFERENCE_NOT_FOUND`
  if (!Object.hasOwn(errorCatalogue, key)) return notFound(resource, reference.extId, reference.path)
  const values = {
    verb: operation.verb === 'action' ? firstWordOf(operation.id) : operation.verb,
    kind: operation.resource?.title ?? operation.stem,
    name: String((body as Document | undefined)?.['name'] ?? 'of this request'),
    referencedKind: resource.title,
    referencedExtId: reference.extId,
  }
  return new ApiError(key as 'NETWORKING_REFERENCE_NOT_FOUND', values, { extra: { attributePath: reference.path } })
}

/** `clear` of `clearRoutingPolicyCounters`. */
const firstWordOf = (operationId: string): string => /^[a-z]+/.exec(operationId)?.[0] ?? operationId
