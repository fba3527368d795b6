import { contract, type ErrorDefinition, type Operation } from '@hyperplane/contract'
import { sharedErrors } from '@hyperplane/contract/errors'
import { collectDomains } from '../../domains/collected.ts'
import { directoryFaults } from '../../drivers/directory.ts'
import { objectStoreFaults } from '../../drivers/object-store.ts'
import { remoteFaultReasons } from '../../drivers/remote-managers.ts'
import { driverCalls } from '../../drivers/simulated/calls.ts'
import { webFaults } from '../../drivers/web.ts'

/** Drivers with their own fault names; their callers handle only these. */
export const driverFaults = {
  directory: directoryFaults,
  objectStore: objectStoreFaults,
  remoteManagers: remoteFaultReasons,
  web: webFaults,
}

export interface Names {
  readonly operations: ReadonlyMap<string, Operation>
  readonly kinds: ReadonlySet<string>
  readonly tasks: ReturnType<typeof collectDomains>['tasks']
  readonly driverCalls: ReadonlyMap<string, ReadonlySet<string>>
  readonly driverFaults: ReadonlyMap<string, ReadonlySet<string>>
  /** Without errors of the control interface, which rules cannot affect. */
  readonly errors: ReadonlyMap<string, ErrorDefinition>
}

let cached: Names | undefined

/** Equal for all worlds, so computed once. */
export function names(): Names {
  cached ??= {
    operations: new Map(
      contract.flatMap(({ operations }) => operations.map((operation) => [operation.key, operation])),
    ),
    kinds: new Set(
      contract.flatMap(({ operations }) =>
        operations.flatMap(({ resource }) => (resource === undefined ? [] : resource.kind)),
      ),
    ),
    tasks: collectDomains().tasks,
    driverCalls: wordsOf(driverCalls),
    driverFaults: wordsOf(driverFaults),
    errors: new Map(
      [sharedErrors, ...contract.map(({ errors }) => errors)].flatMap((errors) =>
        Object.entries<ErrorDefinition>(errors),
      ),
    ),
  }
  return cached
}

const wordsOf = (table: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Object.entries(table).map(([name, words]) => [name, new Set(words)]))

export const matchingKeys = (keys: Iterable<string>, written: string): readonly string[] => {
  const all = [...keys]
  return all.includes(written) ? [written] : all.filter((key) => key.slice(key.lastIndexOf('.') + 1) === written)
}

export const matchingErrorKeys = (written: string): readonly string[] => {
  const { errors } = names()
  if (errors.has(written)) return [written]
  const keys = [...errors].flatMap(([key, { code }]) => (code === written ? [key] : []))
  // Kinds may reword a shared error and keep its code: prefer the shared one.
  const shared = keys.filter((key) => Object.hasOwn(sharedErrors, key))
  return shared.length === 1 ? shared : keys
}
