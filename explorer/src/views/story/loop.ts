// SPDX-License-Identifier: MIT
// A path through space, seen from a side that can be turned by dragging or with the arrow keys.
import { h, s } from "../../dom";
import { t } from "../../words";

export interface Loop {
    element: HTMLElement;
    /** Points x, y, z one behind the other; those marked come nearest to each other. */
    draw(points: ArrayLike<number>, marked: number[]): void;
}

const SIZE = 100,
    DOT = 2.4;

export function loop(): Loop {
    const path = s("path.path"),
        dots = s("g.dots"),
        near = s("g.near");
    const picture = s(
        "svg",
        { viewBox: "-150 -150 300 300", "aria-hidden": "true" },
        path,
        dots,
        near,
    );
    const element = h(
        "div.loop",
        {
            tabindex: 0,
            role: "img",
            "aria-label": t(
                "The path of three sines through space; arrow keys turn it",
                "三条正弦在空间中的路径；方向键可转动",
            ),
        },
        picture,
    );
    let points: ArrayLike<number> = [],
        marked: number[] = [],
        yaw = 0.6,
        pitch = 0.45;

    function seen(i: number): [number, number] {
        const [x, y, z] = [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
        const right = x * Math.cos(yaw) + z * Math.sin(yaw),
            deep = z * Math.cos(yaw) - x * Math.sin(yaw);
        return [SIZE * right, SIZE * (deep * Math.sin(pitch) - y * Math.cos(pitch))];
    }

    const dot = (i: number, r: number, name = "") => {
        const [cx, cy] = seen(i);
        return s("circle", { cx: cx.toFixed(2), cy: cy.toFixed(2), r, class: name || undefined });
    };

    function paint(): void {
        const all = Array.from({ length: points.length / 3 }, (_, i) => i);
        path.setAttribute(
            "d",
            all
                .map(
                    (i) =>
                        `${i ? "L" : "M"}${seen(i)
                            .map((one) => one.toFixed(2))
                            .join(" ")}`,
                )
                .join(""),
        );
        dots.replaceChildren(...all.map((i) => dot(i, DOT)));
        near.replaceChildren(...marked.filter((i) => i < all.length).map((i) => dot(i, 6)));
    }

    function turn(right: number, down: number): void {
        yaw += right;
        pitch = Math.max(-1.5, Math.min(1.5, pitch + down));
        paint();
    }

    element.addEventListener("pointermove", (event) => {
        if (event.buttons) turn(event.movementX / 120, event.movementY / 120);
    });
    element.addEventListener("pointerdown", (event) => element.setPointerCapture(event.pointerId));
    element.addEventListener("keydown", (event) => {
        const [right, down] = (
            {
                ArrowLeft: [-0.1, 0],
                ArrowRight: [0.1, 0],
                ArrowUp: [0, -0.1],
                ArrowDown: [0, 0.1],
            } as Record<string, number[]>
        )[event.key] ?? [0, 0];
        if (!right && !down) return;
        event.preventDefault();
        turn(right, down);
    });
    return {
        element,
        draw(next, nearest) {
            [points, marked] = [next, nearest];
            paint();
        },
    };
}
