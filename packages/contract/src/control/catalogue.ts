/** Names that fault rules and events can use, with working examples. Source: reference faults.md, world-events.md. */
import { read } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled, worldName } from './administration.ts'
import { factKinds, happeningTypes } from './world-happening.ts'

const ruleExample = s.anything()
const eventExample = s.anything()
const outcomes = s.arrayOf(s.text())

const CatalogueTask = s.object('control.v1.CatalogueTask', {
  /** Value for `match/taskStep/task`: `vmm.create-vm`. */
  name: s.text(),
  steps: s.arrayOf(
    s.object('control.v1.CatalogueStep', {
      /** Value for `match/taskStep/step`. */
      name: s.text(),
      /** Progress of the task in percent when this step is done. */
      progress: s.integer(),
      /** Rules with the phase UNDO can strike the step. */
      hasUndo: s.boolean(),
    }),
  ),
  /** Cancels are accepted until this step begins. */
  cancelableUntil: s.optional(s.text()),
  outcomes,
  example: ruleExample,
})

const CatalogueDriverCall = s.object('control.v1.CatalogueDriverCall', {
  driver: s.text(),
  method: s.text(),
  outcomes,
  /** Values for `driverFault`, for drivers with errors of their own; other drivers accept any of `errors`. */
  driverFaults: s.arrayOf(s.text()),
  example: ruleExample,
})

const CatalogueError = s.object('control.v1.CatalogueError', {
  key: s.text(),
  code: s.text(),
  status: s.integer(),
  message: s.text(),
  /** Arguments that a rule for steps or driver calls must give. */
  arguments: s.arrayOf(s.text()),
})

const CatalogueParameter = s.object('control.v1.CatalogueParameter', {
  name: s.text(),
  type: s.text(),
  isRequired: s.boolean(),
  default: s.optional(s.anything()),
  values: s.optional(s.arrayOf(s.text())),
  minimum: s.optional(s.number()),
  maximum: s.optional(s.number()),
})

/** `missing`: the world has no suitable entity, and the example has a placeholder. */
const examples = { example: eventExample, missing: s.optional(s.text()) } as const

const CatalogueEvent = s.object('control.v1.CatalogueEvent', {
  type: s.enumeration(happeningTypes),
  parameters: s.arrayOf(CatalogueParameter),
  /** Absent for an event that does not last. */
  endedBy: s.optional(s.enumeration(happeningTypes)),
  ...examples,
})

const CatalogueFact = s.object('control.v1.CatalogueFact', {
  /** Value for `kind` of FACT_CHANGES. */
  kind: s.enumeration(factKinds),
  of: s.text(),
  fields: s.arrayOf(s.text()),
  ...examples,
})

export const Catalogue = s.object('control.v1.Catalogue', {
  tasks: s.arrayOf(CatalogueTask),
  driverCalls: s.arrayOf(CatalogueDriverCall),
  errors: s.arrayOf(CatalogueError),
  events: s.arrayOf(CatalogueEvent),
  facts: s.arrayOf(CatalogueFact),
})

export const catalogueOperations = {
  getCatalogue: read('/catalogue', Catalogue, {
    ...controlled,
    envelope: 'control.v1.CatalogueApiResponse',
    iam: 'View_Catalogue',
    /** The world whose entities the examples name; default: `default`. */
    query: { world: s.optional(worldName) },
  }),
}
