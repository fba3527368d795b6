/** An entity, a body, or a part of one, where its kind is a variable. */
export type Document = Readonly<Record<string, unknown>>

export type AnyEntity = Document & { readonly extId: string }
