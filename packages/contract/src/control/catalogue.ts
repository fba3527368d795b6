/**
 * Names that fault rules and events can use in this version of the service, and for each a body that works as sent.
 * Source: reference faults.md, world-events.md.
 */
import { read } from '../operation.ts'
import { anything, arrayOf, boolean, enumeration, integer, number, object, optional, text } from '../schema.ts'
import { controlled, worldName } from './administration.ts'
import { factKinds, happeningTypes } from './world-happening.ts'

/** Body of `POST /worlds/{worldName}/faults`. */
const ruleExample = anything()
/** Body of `POST /worlds/{worldName}/events`. */
const eventExample = anything()
/** Names of effects: `error`, `delay`. */
const outcomes = arrayOf(text())

const CatalogueTask = object('control.v1.CatalogueTask', {
  /** Value for `match/taskStep/task`: `vmm.create-vm`. */
  name: text(),
  steps: arrayOf(
    object('control.v1.CatalogueStep', {
      /** Value for `match/taskStep/step`. */
      name: text(),
      /** Progress of the task after the step, in percent. */
      progress: integer(),
      /** True if rules with the phase UNDO can strike it. */
      hasUndo: boolean(),
    }),
  ),
  /** A cancel is accepted until this step begins. */
  cancelableUntil: optional(text()),
  outcomes,
  example: ruleExample,
})

const CatalogueDriverCall = object('control.v1.CatalogueDriverCall', {
  driver: text(),
  method: text(),
  outcomes,
  /** Values for `driverFault`, for drivers with errors of their own; other drivers accept any of `errors`. */
  driverFaults: arrayOf(text()),
  example: ruleExample,
})

const CatalogueError = object('control.v1.CatalogueError', {
  key: text(),
  code: text(),
  status: integer(),
  message: text(),
  /** Arguments that a rule for steps or driver calls must give. */
  arguments: arrayOf(text()),
})

const CatalogueParameter = object('control.v1.CatalogueParameter', {
  name: text(),
  /** `text`, `integer`, `number`, `boolean`, `enumeration` or `anything`. */
  type: text(),
  isRequired: boolean(),
  default: optional(anything()),
  values: optional(arrayOf(text())),
  minimum: optional(number()),
  maximum: optional(number()),
})

/** `missing`: the world has no entity that the example could name, and the example has a placeholder. */
const examples = { example: eventExample, missing: optional(text()) } as const

const CatalogueEvent = object('control.v1.CatalogueEvent', {
  type: enumeration(happeningTypes),
  parameters: arrayOf(CatalogueParameter),
  /** The event that ends it; absent for an event that does not last. */
  endedBy: optional(enumeration(happeningTypes)),
  ...examples,
})

const CatalogueFact = object('control.v1.CatalogueFact', {
  /** Value for `kind` of FACT_CHANGES. */
  kind: enumeration(factKinds),
  /** Kind of entity that `of` names. */
  of: text(),
  /** Fields that a `path` can begin with. */
  fields: arrayOf(text()),
  ...examples,
})

export const Catalogue = object('control.v1.Catalogue', {
  tasks: arrayOf(CatalogueTask),
  driverCalls: arrayOf(CatalogueDriverCall),
  /** Errors that rules can inject into task steps and calls of most drivers. */
  errors: arrayOf(CatalogueError),
  events: arrayOf(CatalogueEvent),
  facts: arrayOf(CatalogueFact),
})

export const catalogueOperations = {
  getCatalogue: read('/catalogue', Catalogue, {
    ...controlled,
    envelope: 'control.v1.CatalogueApiResponse',
    iam: 'View_Catalogue',
    /** The world whose entities the examples name; default: `default`. */
    query: { world: optional(worldName) },
  }),
}
