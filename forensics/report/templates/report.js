(function () {
  "use strict";
  var PAPER = 670; // width of the text on A4, in CSS pixels
  var config = { displayModeBar: false, displaylogo: false, responsive: true };
  // With a mouse one may drag to zoom; under a finger a chart must let the page scroll.
  var dragmode = window.matchMedia("(pointer: fine)").matches ? "zoom" : false;
  var blocks = document.querySelectorAll('script[type="application/json"][data-chart]');
  var holders = [];

  document.documentElement.classList.add("js");
  blocks.forEach(function (block) {
    var holder = document.getElementById(block.getAttribute("data-chart"));
    holders.push(holder);
    try {
      var figure = JSON.parse(block.textContent);
      figure.layout.dragmode = dragmode;
      Plotly.newPlot(holder, figure.data, figure.layout, config).then(function () {
        holder.setAttribute("data-drawn", "yes");
      });
    } catch (error) {
      holder.textContent = "This chart could not be drawn; its numbers are in the table below.";
    }
  });

  // On paper a chart takes the width of the paper, and what is folded lies open.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    holders.forEach(function (holder) {
      Plotly.relayout(holder, { autosize: false, width: PAPER });
    });
    document.querySelectorAll("details:not(.numbers):not([open])").forEach(function (folded) {
      folded.open = true;
      opened.push(folded);
    });
  });
  window.addEventListener("afterprint", function () {
    holders.forEach(function (holder) {
      Plotly.relayout(holder, { autosize: true, width: null });
    });
    opened.splice(0).forEach(function (folded) {
      folded.open = false;
    });
  });
})();
