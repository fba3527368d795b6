/**
 * Names that fault rules and events can use in this version of the service, and for each a body that works as sent.
 * Source: DESIGN D; reference faults.md, world-events.md.
 */
import { read } from '../operation.ts'
import { anything, arrayOf, boolean, enumeration, integer, number, object, optional, text } from '../schema.ts'
import { controlled, worldName } from './administration.ts'
import { factKinds, happeningTypes } from './world-happening.ts'

/** Body of `POST /worlds/{worldName}/faults`. */
const ruleExample = anything()
/** Body of `POST /worlds/{worldName}/events`. */
const eventExample = anything()
/** Effects by the field that names them: `error`, `delay`. */
const outcomes = arrayOf(text())

const CatalogueTask = object('control.v1.CatalogueTask', {
  /** As `match/taskStep/task` names it: `vmm.create-vm`. */
  name: text(),
  steps: arrayOf(
    object('control.v1.CatalogueStep', {
      /** As `match/taskStep/step` names it. */
      name: text(),
      /** Of the task when the step is done, in percent. */
      progress: integer(),
      /** A rule with the phase UNDO meets it. */
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
  /** Values of `driverFault`, for drivers that have words of their own; the others take any of `errors`. */
  driverFaults: arrayOf(text()),
  example: ruleExample,
})

const CatalogueError = object('control.v1.CatalogueError', {
  key: text(),
  code: text(),
  status: integer(),
  message: text(),
  /** Names that a rule for steps or calls must give a text for. */
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

/** `missing`: the world has nothing that the example could name, and a placeholder stands for it. */
const examples = { example: eventExample, missing: optional(text()) } as const

const CatalogueEvent = object('control.v1.CatalogueEvent', {
  type: enumeration(happeningTypes),
  parameters: arrayOf(CatalogueParameter),
  /** The event that ends it; absent: it does not last. */
  endedBy: optional(enumeration(happeningTypes)),
  ...examples,
})

const CatalogueFact = object('control.v1.CatalogueFact', {
  /** `kind` of FACT_CHANGES. */
  kind: enumeration(factKinds),
  /** What `of` names. */
  of: text(),
  /** What a `path` begins with. */
  fields: arrayOf(text()),
  ...examples,
})

export const Catalogue = object('control.v1.Catalogue', {
  tasks: arrayOf(CatalogueTask),
  driverCalls: arrayOf(CatalogueDriverCall),
  /** What steps of tasks, and calls of most drivers, can be made to fail with. */
  errors: arrayOf(CatalogueError),
  events: arrayOf(CatalogueEvent),
  facts: arrayOf(CatalogueFact),
})

export const catalogueOperations = {
  getCatalogue: read('/catalogue', Catalogue, {
    ...controlled,
    envelope: 'control.v1.CatalogueApiResponse',
    iam: 'View_Catalogue',
    /** The world whose hosts, machines and so on the examples of events name; default: `default`. */
    query: { world: optional(worldName) },
  }),
}
