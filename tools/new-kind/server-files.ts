import { camel } from './contract-file.ts'
import type { OperationFact } from './facts.ts'

export interface KindNames {
  readonly namespace: string
  readonly kind: string
  /** Specifier of the contract file: `@hyperplane/contract/networking/gateway`. */
  readonly contract: string
  /** From the file's folder to `packages/server/src/domains`, `..` */
  readonly up: string
}

const mutations = (operations: readonly OperationFact[]): readonly OperationFact[] =>
  operations.filter(({ method }) => method !== 'GET')

export function domainFile({ kind, contract, up }: KindNames, operations: readonly OperationFact[]): string {
  const handlers = mutations(operations).map(({ operationId, requestBody }) => {
    const parameters = requestBody === null ? 'ctx' : 'ctx, { body }'
    return `    async ${operationId}(${parameters}) {\n      return undecided.behaviour(${requestBody === null ? 'ctx' : 'ctx, body'})\n    },`
  })
  return `/** Source: undecided. */
import { ${camel(kind)}Operations } from '${contract}'
import { implement } from '${up}/context.ts'

export const ${camel(kind)} = implement(${camel(kind)}Operations, {
${handlers.join('\n')}
})
`
}

export function suitesFile({ namespace, kind }: KindNames, operations: readonly OperationFact[]): string {
  const creations = mutations(operations).filter(({ method, path }) => method === 'POST' && !path.includes('$actions'))
  const creation = creations.map(
    ({ operationId }) => `  '${namespace}.${operationId}': { path: undecided.path, body: (name) => ({ name }) },`,
  )
  const scenarios = mutations(operations)
    .filter(({ response }) => response.async)
    .map(({ operationId }) => `  'undecided.taskOf.${operationId}': async (app) => undecided.request(app),`)
  return `/** Requests by which suites that cover every kind reach it: ${kind}. */
import type { Creation, OrderCase, RestartScenario } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
${creation.join('\n')}
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
${creations.map(({ operationId }) => `  '${namespace}.${operationId}': undecided.orderCase,`).join('\n')}
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
${scenarios.join('\n')}
}
`
}

export function testFile({ kind }: KindNames, operations: readonly OperationFact[]): string {
  const titles = operations.map(
    ({ operationId }) => `test('undecided: what ${operationId} does', () => undecided.${operationId})`,
  )
  return `/** ${kind}: Source: undecided. */
import { test } from 'node:test'

${titles.join('\n')}
`
}
