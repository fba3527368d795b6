/** Everything that a rule can name, as this version of the service knows it. */
import { contract, type ErrorDefinition, type Operation } from '@hyperplane/contract'
import { sharedErrors } from '@hyperplane/contract/errors'
import type { TaskDefinition } from '../../core/tasks/define-task.ts'
import { collectDomains } from '../../domains/collected.ts'
import { driverCalls, driverFaults } from '../../drivers/calls.ts'

export interface Names {
  /** By key, `vmm.createVm`. */
  readonly operations: ReadonlyMap<string, Operation>
  /** Keys of operations that answer 501. */
  readonly unbuilt: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
  readonly tasks: ReadonlyMap<string, TaskDefinition<any, any>>
  readonly driverCalls: ReadonlyMap<string, ReadonlySet<string>>
  readonly driverFaults: ReadonlyMap<string, ReadonlySet<string>>
  /** By key. Not those of the control interface, which rules do not touch. */
  readonly errors: ReadonlyMap<string, ErrorDefinition>
}

let known: Names | undefined

/** The same for every world: it follows from the code. */
export function names(): Names {
  known ??= {
    operations: new Map(
      contract.flatMap(({ operations }) => operations.map((operation) => [operation.key, operation])),
    ),
    unbuilt: new Set(contract.flatMap(({ unimplemented }) => unimplemented.map(({ key }) => key))),
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
  return known
}

const wordsOf = (table: Readonly<Record<string, object>>): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Object.entries(table).map(([name, words]) => [name, new Set(Object.keys(words))]))

/** What somebody can have meant by a name: keys, or what follows their last point. */
export const matchingKeys = (keys: Iterable<string>, written: string): readonly string[] => {
  const all = [...keys]
  return all.includes(written) ? [written] : all.filter((key) => key.slice(key.lastIndexOf('.') + 1) === written)
}

/** Keys of the errors with this key or code. */
export const matchingErrorKeys = (written: string): readonly string[] => {
  const { errors } = names()
  if (errors.has(written)) return [written]
  const keys = [...errors].flatMap(([key, { code }]) => (code === written ? [key] : []))
  // Kinds say shared errors in their own words, which leave the code as it is.
  const shared = keys.filter((key) => Object.hasOwn(sharedErrors, key))
  return shared.length === 1 ? shared : keys
}
