/** Step 14: every id in the body that must name an entity does, and the caller may refer to it. Source: conventions 1, 16.9. */
import type { Operation, Resource } from '@hyperplane/contract'
import { errorCatalogue } from '@hyperplane/contract/error-catalogue'
import type { Reader } from '../../store/store.ts'
import { isInScope } from '../access/scope.ts'
import { ApiError, refuseAll } from '../api-error.ts'
import { referencesIn } from '../input/validate.ts'
import { notFound } from '../standard.ts'
import type { Call } from './call.ts'
import type { Machinery } from './machinery.ts'

/** @throws ApiError 404 for each that names nothing, or nothing that the caller may refer to */
export async function checkReferences(
  { kinds, access }: Machinery<any>,
  reader: Reader,
  { operation, caller, input }: Call,
): Promise<void> {
  if (operation.body === undefined || input.body === undefined) return
  const faults: ApiError[] = []
  for (const reference of referencesIn(operation.body, input.body)) {
    const resource = kinds.resource(reference.kind)
    if (resource === undefined || resource.derived === true) continue
    const entity = await reader.get(resource, reference.extId)
    const scope = entity === undefined ? undefined : await access.referScope(caller, operation, resource)
    if (entity === undefined || !isInScope(scope, entity)) {
      faults.push(referenceNotFound(operation, resource, reference, input.body))
    }
  }
  refuseAll(faults)
}

/** 404 for an id in a body: as for one in the path, unless the namespace has its own words for it. */
function referenceNotFound(
  operation: Operation,
  resource: Resource,
  reference: { kind: string; extId: string; path: string },
  body: any,
): ApiError {
  const key = `${operation.namespace.toUpperCase()}_REFERENCE_NOT_FOUND`
  if (!Object.hasOwn(errorCatalogue, key)) return notFound(resource, reference.kind, reference.extId, reference.path)
  const values = {
    verb: operation.verb,
    kind: operation.resource?.title ?? operation.stem,
    name: String(body?.name ?? ''),
    referencedKind: resource.title,
    referencedExtId: reference.extId,
  }
  return new ApiError(key as 'NETWORKING_REFERENCE_NOT_FOUND', values, { extra: { attributePath: reference.path } })
}
